//! Where requests go on each device: after each other or not, on pages or not, between which ends.

use super::report::{DeviceReport, LocalityReport};
use super::{PAGE_SECTORS, Record, percent};
use manx_base::units::{Op, SECTOR};

/// The places of a trace's requests.
#[derive(Clone, Debug, Default)]
pub(super) struct Locality {
    devices: Vec<Device>,
    requests: u64,
    sequential: u64,
    unaligned: u64,
}

#[derive(Clone, Debug)]
struct Device {
    reads: u64,
    writes: u64,
    read_bytes: u64,
    write_bytes: u64,
    low: u64,
    end: u64,
    /// Where the request before this one ended.
    last_end: Option<u64>,
}

impl Device {
    const NEW: Device = Device {
        reads: 0,
        writes: 0,
        read_bytes: 0,
        write_bytes: 0,
        low: u64::MAX,
        end: 0,
        last_end: None,
    };

    /// From the lowest sector to the highest; 0 where nothing was touched.
    fn span_bytes(&self) -> u64 {
        self.end.saturating_sub(self.low) * SECTOR
    }
}

impl Locality {
    #[inline]
    pub(super) fn record(&mut self, record: &Record) {
        let index = record.device as usize;
        if index >= self.devices.len() {
            self.devices.resize(index + 1, Device::NEW);
        }
        let device = &mut self.devices[index];
        let (lba, end) = (record.lba.0, record.lba.0 + u64::from(record.sectors));
        let (requests, total) = match record.op {
            Op::Write => (&mut device.writes, &mut device.write_bytes),
            _ => (&mut device.reads, &mut device.read_bytes),
        };
        *requests += 1;
        *total = total.saturating_add(u64::from(record.sectors) * SECTOR);
        device.low = device.low.min(lba);
        device.end = device.end.max(end);
        self.requests += 1;
        self.sequential += u64::from(device.last_end == Some(lba));
        self.unaligned += u64::from((lba | end) % PAGE_SECTORS != 0);
        device.last_end = Some(end);
    }

    pub(super) fn report(&self) -> LocalityReport {
        LocalityReport {
            sequential_percent: percent(self.sequential, self.requests),
            unaligned_percent: percent(self.unaligned, self.requests),
            lba_span_bytes: self.devices.iter().map(Device::span_bytes).sum(),
        }
    }

    pub(super) fn devices(&self, names: &[&str]) -> Vec<DeviceReport> {
        let rows =
            self.devices.iter().enumerate().filter(|(_, device)| device.reads + device.writes > 0);
        rows.map(|(number, device)| DeviceReport {
            name: names.get(number).map_or_else(|| number.to_string(), |name| name.to_string()),
            requests: device.reads + device.writes,
            reads: device.reads,
            writes: device.writes,
            read_percent: percent(device.reads, device.reads + device.writes),
            read_bytes: device.read_bytes,
            write_bytes: device.write_bytes,
            lowest_lba: device.low,
            span_bytes: device.span_bytes(),
        })
        .collect()
    }
}
