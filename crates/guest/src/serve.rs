//! One request of a guest, done.

use std::array::from_fn;

use posix::message::SECTOR;

use crate::{
    Storage,
    vhost::{Device, Request, RequestKind, Status, VhostError},
};

/// Does one request; its status, and how many bytes were put into the guest's memory.
pub(crate) fn serve(
    disk: &Device,
    request: &Request,
    storage: &mut dyn Storage,
) -> Result<(Status, usize), VhostError> {
    let status = |went_well: bool| if went_well { Status::Done } else { Status::Failed };
    Ok(match request.kind {
        RequestKind::Read => {
            let mut data = vec![0; request.len()];
            let went_well = storage.read(request.sector, &mut data);
            request.put(&disk.memory, &data)?;
            (status(went_well), data.len())
        }
        RequestKind::Write => (status(storage.write(request.sector, &request.data(&disk.memory)?)), 0),
        RequestKind::Flush => (status(storage.flush()), 0),
        RequestKind::Discard | RequestKind::WriteZeroes => {
            let data = request.data(&disk.memory)?;
            let Some(range) = data.first_chunk::<16>() else { return Ok((Status::Unsupported, 0)) };
            let sector = u64::from_le_bytes(from_fn(|byte| range[byte]));
            let count = u32::from_le_bytes(from_fn(|byte| range[8 + byte]));
            let went_well = if request.kind == RequestKind::Discard {
                storage.discard(sector, count)
            } else {
                storage.write(sector, &vec![0; count as usize * SECTOR])
            };
            (status(went_well), 0)
        }
        RequestKind::Identify => {
            request.put(&disk.memory, b"shakedown\0")?;
            (Status::Done, request.len())
        }
        RequestKind::Other(_) => (Status::Unsupported, 0),
    })
}

/// While a kernel boots it looks at its disk, and finds nothing.
pub(crate) struct NoDisk;

impl Storage for NoDisk {
    fn read(&mut self, _: u64, data: &mut [u8]) -> bool {
        data.fill(0);
        true
    }
}
