//! The guest's memory, which is a file that it hands over: what lies at an address is read and written in a mapping.
//!
//! The guest changes its memory as it likes while we hold the mapping, so all of it is volatile. To touch a mapping
//! past the end of its file would kill us, so none is made that reaches that far.

use std::{fs::File, os::fd::OwnedFd};

use rustix::{fs::fstat, io::Errno};
use vm_memory::{Bytes as _, FileOffset, MmapRegion, VolatileMemory as _, VolatileSlice, mmap::MmapRegionError};

use crate::vhost::VhostError;

/// Mappings begin at multiples of this in their file.
const PAGE: u64 = 4096;

/// A contiguous range of the guest's memory.
#[derive(Debug)]
pub(crate) struct Region {
    /// Its address as the guest's devices know it.
    guest: u64,
    /// Its address as the guest kernel, a process here, knows it.
    user: u64,
    /// How long it is.
    len: u64,
    /// How far into the mapping it begins.
    begins: u64,
    mapping: MmapRegion,
}

impl Region {
    /// Maps `len` bytes of a file, from `offset` on, that lie at these addresses.
    pub fn map(guest: u64, user: u64, len: u64, offset: u64, file: OwnedFd) -> Result<Self, VhostError> {
        let file = File::from(file);
        let there = u64::try_from(fstat(&file)?.st_size).unwrap_or(0);
        if offset.checked_add(len).is_none_or(|end| end > there) {
            return Err(VhostError::OutsideMemory);
        }
        let begins = offset % PAGE;
        let whole = usize::try_from(begins + len).map_err(|_| VhostError::OutsideMemory)?;
        let mapping = MmapRegion::from_file(FileOffset::new(file, offset - begins), whole);
        let failed = |error: MmapRegionError| match error {
            MmapRegionError::Mmap(error) => Errno::from_io_error(&error).unwrap_or(Errno::IO),
            _ => Errno::INVAL,
        };
        Ok(Self { guest, user, len, begins, mapping: mapping.map_err(failed)? })
    }
}

/// All of a guest's memory.
#[derive(Debug, Default)]
pub(crate) struct Memory(pub Vec<Region>);

/// By which of its two numberings an address is meant.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Address {
    /// As devices know it: what lies in descriptors.
    Guest(u64),
    /// As the process knows it: where the rings are.
    User(u64),
}

impl Address {
    pub fn plus(self, distance: u64) -> Self {
        match self {
            Self::Guest(address) => Self::Guest(address.wrapping_add(distance)),
            Self::User(address) => Self::User(address.wrapping_add(distance)),
        }
    }
}

impl Memory {
    pub fn read(&self, address: Address, bytes: &mut [u8]) -> Result<(), VhostError> {
        self.find(address, bytes.len())?.read_slice(bytes, 0).map_err(|_| VhostError::OutsideMemory)
    }

    pub fn write(&self, address: Address, bytes: &[u8]) -> Result<(), VhostError> {
        self.find(address, bytes.len())?.write_slice(bytes, 0).map_err(|_| VhostError::OutsideMemory)
    }

    pub fn read_array<const N: usize>(&self, address: Address) -> Result<[u8; N], VhostError> {
        let mut bytes = [0; N];
        self.read(address, &mut bytes)?;
        Ok(bytes)
    }

    /// So many bytes from an address on.
    fn find(&self, address: Address, len: usize) -> Result<VolatileSlice<'_>, VhostError> {
        let inside = |region: &Region| {
            let (start, address) = match address {
                Address::Guest(address) => (region.guest, address),
                Address::User(address) => (region.user, address),
            };
            let distance = address.checked_sub(start)?;
            let end = distance.checked_add(len as u64)?;
            (end <= region.len).then_some(distance + region.begins)
        };
        let found = self.0.iter().find_map(|region| Some((region, inside(region)?)));
        let (region, at) = found.ok_or(VhostError::OutsideMemory)?;
        let at = usize::try_from(at).map_err(|_| VhostError::OutsideMemory)?;
        region.mapping.get_slice(at, len).map_err(|_| VhostError::OutsideMemory)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_lead_into_the_file_and_nowhere_else() {
        let file = tempfile::tempfile().unwrap();
        file.set_len(100).unwrap();
        let region = |len: u64| Region::map(1000, 5000, len, 20, file.try_clone().unwrap().into());
        for too_long in [81, u64::MAX - 20, u64::MAX] {
            assert!(region(too_long).is_err(), "{too_long}: longer than the file");
        }
        let memory = Memory(vec![region(50).unwrap()]);
        memory.write(Address::Guest(1010), b"abc").unwrap();
        assert_eq!(&memory.read_array::<3>(Address::User(5010)).unwrap(), b"abc");
        for outside in [Address::Guest(999), Address::Guest(1048), Address::User(1010), Address::Guest(u64::MAX)] {
            assert!(memory.read_array::<3>(outside).is_err(), "{outside:?}");
            assert!(memory.write(outside, b"abc").is_err(), "{outside:?}");
        }
    }
}
