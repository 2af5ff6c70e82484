//! Where everything lies on the disk, in this order: two checkpoint packs, two copies of the SIT, two of the NAT, the
//! SSA, and the main area of segments.

use disk::{Block, BlockSize, Geometry};

use super::{codec, dentry, variant::Variant};

/// The bytes of a block.
pub(super) const BLOCK: usize = 32;
/// Node numbers there are; number 0 is none.
pub(super) const NIDS: usize = 16;
/// Entries of a SIT or NAT block.
pub(super) const TABLE_ENTRIES: u8 = 4;
/// Blocks of a checkpoint pack: header, SIT journal, NAT journal, footer.
const PACK_BLOCKS: u16 = 4;
const PACKS: u16 = 2;
const COPIES: u16 = 2;
#[expect(clippy::cast_possible_truncation, reason = "it is 4")]
const NAT_BLOCKS: u16 = NIDS as u16 / TABLE_ENTRIES as u16;

/// A block of the main area, by its number on the disk; 0, which is not there, is none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Addr(pub(super) u16);

impl Addr {
    pub(super) const NONE: Self = Self(0);

    pub(super) fn block(self) -> Block {
        Block(u32::from(self.0))
    }
}

/// Where a block of the main area lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Spot {
    pub segment: u8,
    pub offset: u8,
}

/// The sizes and places that follow from a variant.
#[derive(Clone, Copy, Debug)]
pub(super) struct Layout {
    pub segments: u8,
    shift: u32,
    sit: u16,
    nat: u16,
    ssa: u16,
    main: u16,
    end: u16,
}

impl Layout {
    pub fn new(variant: Variant) -> Self {
        let segments = variant.segments.clamp(Variant::SEGMENTS_MIN, Variant::SEGMENTS_MAX);
        let shift = variant.segment_blocks.clamp(4, 16).ilog2();
        let sit = PACKS * PACK_BLOCKS;
        let nat = sit + COPIES * u16::from(segments.div_ceil(TABLE_ENTRIES));
        let ssa = nat + COPIES * NAT_BLOCKS;
        let main = ssa + u16::from(segments);
        Self { segments, shift, sit, nat, ssa, main, end: main + (u16::from(segments) << shift) }
    }

    pub fn geometry(&self) -> Geometry {
        let block_size = BlockSize::new(32).expect("32 is a size that disks have");
        Geometry { block_size, blocks: u32::from(self.end) }
    }

    pub fn segment_blocks(&self) -> u8 {
        1 << self.shift
    }

    /// All blocks of a segment.
    pub fn full(&self) -> u16 {
        u16::MAX >> (16 - u32::from(self.segment_blocks()))
    }

    pub fn sit_blocks(&self) -> u8 {
        self.segments.div_ceil(TABLE_ENTRIES)
    }

    pub fn addr(&self, spot: Spot) -> Addr {
        Addr(self.main + (u16::from(spot.segment) << self.shift) + u16::from(spot.offset))
    }

    /// `None` if there is no such block in the main area, which only a damaged disk can claim.
    pub fn spot(&self, addr: Addr) -> Option<Spot> {
        let index = addr.0.checked_sub(self.main).filter(|_| addr.0 < self.end)?;
        let segment = u8::try_from(index >> self.shift).ok()?;
        Some(Spot { segment, offset: (index & (u16::from(self.segment_blocks()) - 1)).to_le_bytes()[0] })
    }

    pub fn pack(pack: u8) -> Block {
        Block(u32::from(u16::from(pack & 1) * PACK_BLOCKS))
    }

    pub fn pack_footer(pack: u8) -> Block {
        Block(Self::pack(pack).0 + u32::from(PACK_BLOCKS) - 1)
    }

    /// The SIT block with these four segments, in one of its two copies.
    pub fn sit_block(&self, index: u8, copy: bool) -> Block {
        Block(u32::from(self.sit + u16::from(copy) * u16::from(self.sit_blocks()) + u16::from(index)))
    }

    /// The NAT block with these four nodes, in one of its two copies.
    pub fn nat_block(&self, index: u8, copy: bool) -> Block {
        Block(u32::from(self.nat + u16::from(copy) * NAT_BLOCKS + u16::from(index)))
    }

    pub fn summary_block(&self, segment: u8) -> Block {
        Block(u32::from(self.ssa + u16::from(segment)))
    }

    fn place(&self, block: Block) -> Place {
        let number = u16::try_from(block.0).unwrap_or(u16::MAX);
        let in_copy = |from: u16, blocks: u16| ((number - from) / blocks, (number - from) % blocks);
        if number < self.sit {
            return Place::Pack { pack: number / PACK_BLOCKS, part: number % PACK_BLOCKS };
        }
        if number < self.nat {
            let (copy, index) = in_copy(self.sit, u16::from(self.sit_blocks()));
            return Place::Sit { copy, index };
        }
        if number < self.ssa {
            let (copy, index) = in_copy(self.nat, NAT_BLOCKS);
            return Place::Nat { copy, index };
        }
        if number < self.main {
            return Place::Summary { segment: number - self.ssa };
        }
        self.spot(Addr(number)).map_or(Place::Nowhere, Place::Main)
    }

    /// For people.
    pub fn name(&self, block: Block) -> String {
        let four = |index: u16| (4 * index, 4 * index + 3);
        match self.place(block) {
            Place::Pack { pack, part } => {
                let part = ["header", "SIT journal", "NAT journal", "footer"][usize::from(part)];
                format!("checkpoint pack {pack}, {part}")
            }
            Place::Sit { copy, index } => {
                let (first, last) = four(index);
                format!("SIT copy {copy}, segments {first}-{last}")
            }
            Place::Nat { copy, index } => {
                let (first, last) = four(index);
                format!("NAT copy {copy}, nodes {first}-{last}")
            }
            Place::Summary { segment } => format!("summary of segment {segment}"),
            Place::Main(Spot { segment, offset }) => format!("segment {segment} block {offset}"),
            Place::Nowhere => format!("block {}", block.0),
        }
    }

    /// What a block says, for people. A block of the main area that is not a node may be anything.
    pub fn content(&self, block: Block, content: &[u8]) -> Option<String> {
        let content: &[u8; BLOCK] = content.try_into().ok()?;
        match self.place(block) {
            Place::Pack { part: 0 | 3, .. } => Some(
                codec::pack_version(content).map_or("no checkpoint".to_owned(), |version| format!("version {version}")),
            ),
            Place::Sit { .. } => {
                let maps = codec::table(content).map(|map| format!("{map:016b}"));
                Some(format!("valid blocks, last first: {}", maps.join(" ")))
            }
            Place::Nat { index, .. } => {
                let nodes = (4 * index..).zip(codec::table(content)).filter(|(_, addr)| *addr != 0);
                let said: Vec<String> =
                    nodes.map(|(nid, addr)| format!("node {nid} in {}", self.name(Addr(addr).block()))).collect();
                Some(if said.is_empty() { "no nodes".to_owned() } else { said.join(", ") })
            }
            Place::Main(_) => codec::describe_node(content).or_else(|| dentry::describe(content)),
            _ => None,
        }
    }
}

/// What a block is for.
enum Place {
    Pack { pack: u16, part: u16 },
    Sit { copy: u16, index: u16 },
    Nat { copy: u16, index: u16 },
    Summary { segment: u16 },
    Main(Spot),
    Nowhere,
}
