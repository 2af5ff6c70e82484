//! The offline check of the file-mapping models, and the repair of what can be repaired.

use check::Finding;
use disk::{Disk, IoError};
use explore::Property;

use super::layout::Layout;

/// Allocated, but no file has it: room is lost, data is not. A crash may leave that; fsck repairs it.
pub const DEAD_BLOCK: Property = Property::not_critical("dead-block");
/// The same with the power on, where no fsck comes: an op forgot it.
pub const LEAKED_BLOCK: Property = Property::not_critical("leaked-block");
/// A file has it, but it is not allocated, or a file's pointer leads nowhere: the next allocation will destroy data.
pub const LOST_BLOCK: Property = Property::critical("lost-block");
/// Two pointers lead to it.
pub const DOUBLE_POINTER: Property = Property::critical("double-pointer");

/// What a scan of the whole disk found.
pub(super) struct Scan {
    pub findings: Vec<Finding>,
    /// Allocated blocks that no file has, one bit each.
    pub dead: u16,
}

pub(super) fn scan<L: Layout>(layout: &L, disk: &Disk) -> Scan {
    let mut findings = Vec::new();
    let mut find = |property, detail| findings.push(Finding { property, detail });
    let mut owner: [Option<u8>; 16] = [None; 16];
    for file in 0..layout.files() {
        let Some(inode) = layout.inode(disk, file) else { continue };
        let mapped = layout.mapped(disk, inode);
        for block in mapped.into_iter().chain(layout.held(disk, inode)) {
            let Some(block) = block else {
                find(LOST_BLOCK, format!("/f{file} has {} blocks, but a pointer to one leads nowhere", inode.len));
                continue;
            };
            if let Some(other) = owner[usize::from(block)].replace(file) {
                find(DOUBLE_POINTER, format!("data block {block} belongs to /f{other} and to /f{file}"));
            }
            if !layout.is_allocated(disk.image(), block) {
                find(LOST_BLOCK, format!("data block {block} belongs to /f{file} but is free in the allocation table"));
            }
        }
    }
    let mut dead = 0;
    for block in 0..layout.blocks() {
        if owner[usize::from(block)].is_none() && layout.is_allocated(disk.image(), block) {
            dead |= 1 << block;
            find(DEAD_BLOCK, format!("data block {block} is allocated but belongs to no file"));
        }
    }
    Scan { findings, dead }
}

/// Frees dead blocks and clears what pointers they and other free blocks hold. If anything critical is found,
/// everything is left as it is: a repair would only guess.
pub(super) fn check_and_repair<L: Layout>(layout: &L, disk: &mut Disk) -> Result<Vec<Finding>, IoError> {
    let mut read_table = vec![0; layout.table().len() * super::BLOCK_BYTES];
    disk.read(disk::Block(layout.table().start), &mut read_table)?;
    let mut scan = scan(layout, disk);
    let is_dead = |finding: &Finding| finding.property == DEAD_BLOCK;
    if scan.findings.iter().all(is_dead) {
        layout.repair(disk, scan.dead)?;
        scan.findings.iter_mut().for_each(|finding| finding.detail.push_str("; repaired"));
    }
    Ok(scan.findings)
}
