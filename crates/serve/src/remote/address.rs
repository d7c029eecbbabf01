//! Where a member of an array is: `nvme-tcp://HOST:PORT[/NQN[/NAMESPACE]]`.

use crate::nvme_tcp::DISCOVERY;
use std::fmt;
use std::net::{SocketAddr, ToSocketAddrs};
use std::str::FromStr;

/// The subsystem's name where an address has none: what `manx serve` shows.
const NQN: &str = "nqn.2026-01.io.manx:disk";
const SCHEME: &str = "nvme-tcp://";

/// A namespace of a subsystem at an address of TCP.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemberAddress {
    /// A name or an address, and the port.
    pub host: String,
    /// The subsystem.
    pub nqn: String,
    /// The namespace in it.
    pub namespace: u32,
}

impl MemberAddress {
    /// The address of TCP.
    ///
    /// # Errors
    /// The name is not known.
    pub fn resolve(&self) -> Result<SocketAddr, String> {
        let mut found = self.host.to_socket_addrs().map_err(|error| error.to_string())?;
        found.next().ok_or_else(|| "the name has no address".to_string())
    }
}

impl FromStr for MemberAddress {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = |why: &str| {
            Err(format!("`{text}`: {why}; a member is nvme-tcp://HOST:PORT[/NQN[/NAMESPACE]]"))
        };
        let Some(rest) = text.strip_prefix(SCHEME) else {
            return wrong("it does not begin with nvme-tcp://");
        };
        let mut parts = rest.splitn(3, '/');
        let host = parts.next().unwrap_or_default();
        let Some((name, port)) = host.rsplit_once(':') else { return wrong("there is no port") };
        if name.is_empty() || !port.parse::<u16>().is_ok_and(|port| port > 0) {
            return wrong("the host or its port is not one");
        }
        let nqn = parts.next().filter(|nqn| !nqn.is_empty()).unwrap_or(NQN);
        if !nqn.starts_with("nqn.") || nqn.len() > 223 || nqn == DISCOVERY {
            return wrong("the subsystem's name begins with `nqn.`");
        }
        let namespace = parts.next().map_or(Ok(1), str::parse);
        let Ok(namespace) = namespace.as_ref().copied() else {
            return wrong("the namespace is a number from 1 on");
        };
        if namespace == 0 || namespace == u32::MAX {
            return wrong("the namespace is a number from 1 on");
        }
        Ok(Self { host: host.to_string(), nqn: nqn.to_string(), namespace })
    }
}

impl fmt::Display for MemberAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { host, nqn, namespace } = self;
        write!(f, "{SCHEME}{host}/{nqn}/{namespace}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_has_a_port_and_may_have_a_name_and_a_namespace() {
        let parsed = |text: &str| text.parse::<MemberAddress>();
        let short = parsed("nvme-tcp://127.0.0.1:4420").unwrap();
        assert_eq!((short.nqn.as_str(), short.namespace), (NQN, 1));
        let long = parsed("nvme-tcp://[::1]:4420/nqn.2026-01.io.manx:a/3").unwrap();
        assert_eq!((long.host.as_str(), long.namespace), ("[::1]:4420", 3));
        assert_eq!(parsed(&long.to_string()).unwrap(), long);
        for wrong in [
            "quick",
            "nvme-tcp://127.0.0.1",
            "nvme-tcp://:4420",
            "nvme-tcp://a:0",
            "nvme-tcp://a:1/disk",
            "nvme-tcp://a:1/nqn.x/0",
            "nvme-tcp://a:1/nqn.x/one",
            "nvme-tcp://a:1/nqn.2014-08.org.nvmexpress.discovery",
        ] {
            let why = parsed(wrong).unwrap_err();
            assert!(why.contains(wrong) && why.contains("HOST:PORT"), "{why}");
        }
    }
}
