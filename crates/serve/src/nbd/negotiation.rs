//! The negotiation: flags, then options until one of them begins the transmission.

use super::wire::{
    ALLOCATION, FIXED_NEWSTYLE, INIT_MAGIC, NO_ZEROES, OPTION_MAGIC, Put, REPLY_MAGIC, SEND_DF,
    TRANSMISSION_FLAGS, be16, be32, be64, info, option, reply,
};
use super::{MAX_PAYLOAD, Nbd, Phase, Privacy};
use crate::front::{Desk, Export, Fault};
use manx_core::units::SECTOR;
use tracing::debug;

/// Longest option that is read; names have at most 4096 bytes.
const LONGEST: u32 = 64 << 10;

/// The one kind of metadata.
const CONTEXT: &[u8] = b"base:allocation";

fn broken<T>(why: impl Into<String>) -> Result<T, Fault> {
    Err(Fault::Protocol(why.into()))
}

impl Nbd {
    pub(super) fn greet(&mut self, out: &mut Vec<u8>) {
        out.put64(INIT_MAGIC);
        out.put64(OPTION_MAGIC);
        out.put16(FIXED_NEWSTYLE | NO_ZEROES);
        self.phase = Phase::Flags;
    }

    pub(super) fn take_flags(&mut self, bytes: &[u8]) -> Result<usize, Fault> {
        if bytes.len() < 4 {
            return Ok(0);
        }
        let flags = be32(bytes, 0);
        if flags & !u32::from(FIXED_NEWSTYLE | NO_ZEROES) != 0 {
            return broken(format!("unknown client flags {flags:#x}"));
        }
        if flags & u32::from(FIXED_NEWSTYLE) == 0 {
            return broken("the client speaks no fixed newstyle negotiation");
        }
        self.no_zeroes = flags & u32::from(NO_ZEROES) != 0;
        self.phase = Phase::Options;
        Ok(4)
    }

    pub(super) fn take_option(
        &mut self,
        bytes: &[u8],
        out: &mut Vec<u8>,
        desk: &dyn Desk,
    ) -> Result<usize, Fault> {
        if bytes.len() < 16 {
            return Ok(0);
        }
        if be64(bytes, 0) != OPTION_MAGIC {
            return broken("an option without its magic number");
        }
        let (option, length) = (be32(bytes, 8), be32(bytes, 12));
        if length > LONGEST {
            return broken(format!("option {option} with {length} bytes, at most {LONGEST}"));
        }
        let end = 16 + length as usize;
        if bytes.len() < end {
            return Ok(0);
        }
        self.answer_option(option, &bytes[16..end], out, desk)?;
        Ok(end)
    }

    fn answer_option(
        &mut self,
        option: u32,
        data: &[u8],
        out: &mut Vec<u8>,
        desk: &dyn Desk,
    ) -> Result<(), Fault> {
        match option {
            option::ABORT => {
                answer(out, option, reply::ACK, &[]);
                return Err(Fault::Finished);
            }
            option::STARTTLS => self.start_tls(data, out),
            option::EXPORT_NAME if self.needs_tls() => return broken("TLS is required"),
            _ if self.needs_tls() => refuse(out, option, reply::TLS_REQUIRED, "TLS is required"),
            option::EXPORT_NAME => {
                let Some(drive) = self.named(data) else {
                    // The protocol has no answer to a wrong name here but the end.
                    return broken("an unknown export");
                };
                self.choose(drive);
                out.put64(desk.size(drive));
                out.put16(self.transmission_flags());
                if !self.no_zeroes {
                    out.resize(out.len() + 124, 0);
                }
                self.phase = Phase::Transmission;
            }
            option::LIST if data.is_empty() => {
                for export in &self.exports.all {
                    let mut server = Vec::new();
                    server.put32(export.name.len() as u32);
                    server.extend_from_slice(export.name.as_bytes());
                    server.extend_from_slice(export.description.as_bytes());
                    answer(out, option, reply::SERVER, &server);
                }
                answer(out, option, reply::ACK, &[]);
            }
            option::LIST => refuse(out, option, reply::INVALID, "LIST has no data"),
            option::INFO | option::GO => self.go(option, data, out, desk),
            option::STRUCTURED_REPLY if data.is_empty() => {
                self.structured = true;
                answer(out, option, reply::ACK, &[]);
            }
            option::STRUCTURED_REPLY => {
                refuse(out, option, reply::INVALID, "STRUCTURED_REPLY has no data");
            }
            option::LIST_META_CONTEXT | option::SET_META_CONTEXT => {
                self.contexts(option, data, out);
            }
            _ => refuse(out, option, reply::UNSUPPORTED, "an option that is not spoken here"),
        }
        Ok(())
    }

    /// True where a client in the clear is not served.
    fn needs_tls(&self) -> bool {
        let is_required = self.exports.tls.as_ref().is_some_and(|tls| tls.is_required);
        is_required && self.privacy == Privacy::Clear
    }

    fn transmission_flags(&self) -> u16 {
        TRANSMISSION_FLAGS | if self.structured { SEND_DF } else { 0 }
    }

    fn start_tls(&mut self, data: &[u8], out: &mut Vec<u8>) {
        let option = option::STARTTLS;
        match () {
            () if self.exports.tls.is_none() => {
                refuse(out, option, reply::UNSUPPORTED, "there are no certificates here");
            }
            () if !data.is_empty() => refuse(out, option, reply::INVALID, "STARTTLS has no data"),
            () if self.privacy != Privacy::Clear => {
                refuse(out, option, reply::INVALID, "TLS has begun");
            }
            () => {
                // Everything that was agreed in the clear is void.
                (self.structured, self.allocation) = (false, false);
                self.privacy = Privacy::Asked;
                answer(out, option, reply::ACK, &[]);
            }
        }
    }

    /// The drive with that name, or the first where there is none.
    fn named(&self, name: &[u8]) -> Option<u32> {
        let is_named = |export: &Export| name.is_empty() || name == export.name.as_bytes();
        self.exports.all.iter().position(is_named).map(|drive| drive as u32)
    }

    /// Metadata of another drive is not told of this one.
    fn choose(&mut self, drive: u32) {
        self.allocation &= drive == self.drive;
        self.drive = drive;
        let (export, is_encrypted) =
            (&self.exports.all[drive as usize].name, self.privacy == Privacy::Encrypted);
        debug!(export, self.structured, self.allocation, is_encrypted, "the transmission begins");
    }

    fn go(&mut self, option: u32, data: &[u8], out: &mut Vec<u8>, desk: &dyn Desk) {
        let Some((name, rest)) = take_name(data) else {
            return refuse(out, option, reply::INVALID, "a name that is longer than the option");
        };
        let asked = rest.get(..2).map(|count| usize::from(be16(count, 0)));
        let Some(asked) = asked.filter(|count| rest.len() == 2 + 2 * count) else {
            return refuse(out, option, reply::INVALID, "the list of items has another length");
        };
        let Some(drive) = self.named(name) else {
            return refuse(out, option, reply::UNKNOWN, "there is no such export");
        };
        let asks_for = |item| (0..asked).any(|at| be16(rest, 2 + 2 * at) == item);
        let mut item = Vec::new();
        item.put16(info::EXPORT);
        item.put64(desk.size(drive));
        item.put16(self.transmission_flags());
        answer(out, option, reply::INFO, &item);
        let export = &self.exports.all[drive as usize];
        for (number, text) in [(info::NAME, &export.name), (info::DESCRIPTION, &export.description)]
        {
            if asks_for(number) {
                item.clear();
                item.put16(number);
                item.extend_from_slice(text.as_bytes());
                answer(out, option, reply::INFO, &item);
            }
        }
        if asks_for(info::BLOCK_SIZE) {
            item.clear();
            item.put16(info::BLOCK_SIZE);
            item.put32(SECTOR as u32);
            item.put32(export.preferred);
            item.put32(MAX_PAYLOAD);
            answer(out, option, reply::INFO, &item);
        }
        answer(out, option, reply::ACK, &[]);
        if option == option::GO {
            self.choose(drive);
            self.phase = Phase::Transmission;
        }
    }

    /// Metadata contexts: there is one, `base:allocation`.
    fn contexts(&mut self, option: u32, data: &[u8], out: &mut Vec<u8>) {
        let sets = option == option::SET_META_CONTEXT;
        if sets && !self.structured {
            return refuse(out, option, reply::INVALID, "structured replies come first");
        }
        let Some((name, queries)) = take_name(data).and_then(|(name, rest)| {
            let (count, mut rest) = rest.split_at_checked(4)?;
            let mut queries = Vec::new();
            for _ in 0..be32(count, 0) {
                let (query, after) = take_name(rest)?;
                queries.push(query);
                rest = after;
            }
            rest.is_empty().then_some((name, queries))
        }) else {
            return refuse(out, option, reply::INVALID, "the queries have another length");
        };
        if sets {
            self.allocation = false;
        }
        let Some(drive) = self.named(name) else {
            return refuse(out, option, reply::UNKNOWN, "there is no such export");
        };
        let wanted = match sets {
            true => queries.contains(&CONTEXT),
            false => {
                queries.is_empty()
                    || queries.iter().any(|query| [b"base:", CONTEXT].contains(query))
            }
        };
        if wanted {
            let mut context = Vec::new();
            context.put32(if sets { ALLOCATION } else { 0 });
            context.extend_from_slice(CONTEXT);
            answer(out, option, reply::META_CONTEXT, &context);
            if sets {
                (self.drive, self.allocation) = (drive, true);
            }
        }
        answer(out, option, reply::ACK, &[]);
    }
}

/// A length of 32 bits and as many bytes, and what follows.
fn take_name(data: &[u8]) -> Option<(&[u8], &[u8])> {
    let (length, rest) = data.split_at_checked(4)?;
    rest.split_at_checked(be32(length, 0) as usize)
}

fn answer(out: &mut Vec<u8>, option: u32, kind: u32, data: &[u8]) {
    out.put64(REPLY_MAGIC);
    out.put32(option);
    out.put32(kind);
    out.put32(data.len() as u32);
    out.extend_from_slice(data);
}

fn refuse(out: &mut Vec<u8>, option: u32, kind: u32, why: &str) {
    answer(out, option, kind, why.as_bytes());
}
