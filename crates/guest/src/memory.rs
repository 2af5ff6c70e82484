//! The guest's memory, which is a file that it hands over: what lies at an address is read and written there.
//!
//! A mapping would save a system call for each access. That is one part in a hundred of what a request costs anyway,
//! and files cannot be read past their end by mistake.

use std::os::fd::OwnedFd;

use rustix::io::{pread, pwrite};

use crate::vhost::VhostError;

/// A contiguous range of the guest's memory.
#[derive(Debug)]
pub(crate) struct Region {
    /// Its address as the guest's devices know it.
    pub guest: u64,
    /// Its address as the guest kernel, a process here, knows it.
    pub user: u64,
    /// How long it is.
    pub len: u64,
    /// Where it lies in the file.
    pub offset: u64,
    /// The file.
    pub file: OwnedFd,
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
    pub fn read(&self, address: Address, mut bytes: &mut [u8]) -> Result<(), VhostError> {
        let (region, mut at) = self.find(address, bytes.len())?;
        while !bytes.is_empty() {
            let count = pread(&region.file, &mut *bytes, at)?;
            if count == 0 {
                return Err(VhostError::OutsideMemory);
            }
            (bytes, at) = (&mut bytes[count..], at + count as u64);
        }
        Ok(())
    }

    pub fn write(&self, address: Address, mut bytes: &[u8]) -> Result<(), VhostError> {
        let (region, mut at) = self.find(address, bytes.len())?;
        while !bytes.is_empty() {
            let count = pwrite(&region.file, bytes, at)?;
            (bytes, at) = (&bytes[count..], at + count as u64);
        }
        Ok(())
    }

    pub fn read_array<const N: usize>(&self, address: Address) -> Result<[u8; N], VhostError> {
        let mut bytes = [0; N];
        self.read(address, &mut bytes)?;
        Ok(bytes)
    }

    /// The region that holds so many bytes from an address on, and where in its file they lie.
    fn find(&self, address: Address, len: usize) -> Result<(&Region, u64), VhostError> {
        let inside = |region: &Region| {
            let (start, address) = match address {
                Address::Guest(address) => (region.guest, address),
                Address::User(address) => (region.user, address),
            };
            let distance = address.checked_sub(start)?;
            let end = distance.checked_add(len as u64)?;
            (end <= region.len).then_some(distance)
        };
        let found = self.0.iter().find_map(|region| Some((region, inside(region)?)));
        let (region, distance) = found.ok_or(VhostError::OutsideMemory)?;
        Ok((region, region.offset.checked_add(distance).ok_or(VhostError::OutsideMemory)?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_lead_into_the_file_and_nowhere_else() {
        let file = tempfile::tempfile().unwrap();
        file.set_len(100).unwrap();
        let memory = Memory(vec![Region { guest: 1000, user: 5000, len: 50, offset: 20, file: file.into() }]);
        memory.write(Address::Guest(1010), b"abc").unwrap();
        assert_eq!(&memory.read_array::<3>(Address::User(5010)).unwrap(), b"abc");
        for outside in [Address::Guest(999), Address::Guest(1048), Address::User(1010), Address::Guest(u64::MAX)] {
            assert!(memory.read_array::<3>(outside).is_err(), "{outside:?}");
            assert!(memory.write(outside, b"abc").is_err(), "{outside:?}");
        }
    }
}
