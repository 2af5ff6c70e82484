//! In which order the files are described.
//!
//! A file looks as a description of the state says that leaves all other files out. Two files that look alike may
//! change places with all that belongs to them, and the description stays the same, unless one of them has to do with a
//! block or with data of another file. Only then it matters which comes first, and every order is tried.

use smallvec::SmallVec;
use xxhash_rust::xxh3::xxh3_64;

use super::scene::Scene;
use crate::mapping::{FileMapping, layout::Layout};

/// Files, first to last.
type Order = SmallVec<[u8; 8]>;

/// What can be seen of one file, whatever its number and the numbers of its blocks.
struct Look {
    hash: u64,
    /// The blocks that it leads to, one bit each.
    reach: u16,
}

impl<L: Layout> FileMapping<L> {
    /// The orders to try. Files that share an inode block are together in each. `scratch` is left as it was.
    pub(super) fn file_orders(&self, scene: &Scene<'_>, scratch: &mut Vec<u8>) -> SmallVec<[Order; 1]> {
        let all: Order = (0..self.variant.files).collect();
        let looks: SmallVec<[Look; 8]> = all.iter().map(|file| self.look(scene, *file, scratch)).collect();
        let look = |file: &u8| &looks[usize::from(*file)];
        let is_twin = |file: &u8| all.iter().any(|other| other != file && look(other).hash == look(file).hash);
        // Files that lead nowhere and have no data, as those that do not exist, have to do with nothing.
        let is_bare = |file: &u8| look(file).reach == 0 && scene.data_of(*file).next().is_none();
        let entangled =
            if all.iter().any(|file| is_twin(file) && !is_bare(file)) { self.entangled(scene, &looks) } else { 0 };
        let key = |file: &u8| (look(file).hash, entangled & 1 << file != 0);

        let size = usize::from(self.layout.inodes_per_block());
        // A last block that is not full stays last: it is told apart by what it lacks.
        let full = all.len() / size;
        let mut groups: SmallVec<[SmallVec<[u8; 2]>; 8]> = all.chunks(size).map(SmallVec::from_slice).collect();
        groups.iter_mut().for_each(|group| group.sort_by_key(key));
        groups[..full].sort_by(|a, b| a.iter().map(key).cmp(b.iter().map(key)));
        let matters = |file: &u8| entangled & 1 << file != 0 && is_twin(file);
        if !all.iter().any(matters) {
            return SmallVec::from_elem(groups.into_iter().flatten().collect(), 1);
        }
        let is_tie = |a: &[u8], b: &[u8]| a.iter().map(key).eq(b.iter().map(key)) && a.iter().any(matters);
        let within: Vec<_> = groups.iter().map(|group| tied_orders(group, &|a, b| is_tie(&[*a], &[*b]))).collect();
        let ordered = combinations(&within).into_iter().flat_map(|groups| {
            let (full, rest) = groups.split_at(full);
            let orders = tied_orders(full, &|a, b| is_tie(a, b)).into_iter();
            let flat = orders.map(|order| order.iter().chain(rest).flatten().copied().collect());
            flat.collect::<Vec<Order>>()
        });
        ordered.collect()
    }

    fn look(&self, scene: &Scene<'_>, file: u8, scratch: &mut Vec<u8>) -> Look {
        let files = [file];
        let names = self.names(scene, &files);
        let start = scratch.len();
        self.describe(scene, &names, scratch);
        let hash = xxh3_64(&scratch[start..]);
        scratch.truncate(start);
        Look { hash, reach: names.blocks.met() }
    }

    /// The files that share a block or data with another, or that a block has to do with to which nothing leads: one
    /// bit each.
    fn entangled(&self, scene: &Scene<'_>, looks: &[Look]) -> u16 {
        let leads_to = |block: u8| {
            let leading = (0..).zip(looks).filter(|(_, look)| look.reach & 1 << block != 0);
            leading.fold(0, |files, (file, _)| files | 1u16 << file)
        };
        let mut has = [0u16; 256];
        for file in 0..self.variant.files {
            scene.data_of(file).for_each(|fill| has[usize::from(fill)] |= 1 << file);
        }
        let shared = |files: u16| if files.count_ones() > 1 { files } else { 0 };
        let mut entangled = has.iter().fold(0, |entangled, files| entangled | shared(*files));
        for block in 0..self.variant.blocks {
            let leading = leads_to(block);
            let data = scene.versions.at(self.layout.data_place(block));
            let involved = data.fold(leading, |files, data| files | has[usize::from(data[0])]);
            if leading == 0 {
                let links = scene.versions.at(self.layout.link_place(block)).flatten();
                let pointers = links.filter(|pointer| **pointer < self.variant.blocks);
                entangled |= pointers.fold(involved, |files, pointer| files | leads_to(*pointer));
            }
            entangled |= shared(involved);
        }
        entangled
    }
}

/// Every order of `items` that exchanges only such as tie. Those that tie lie side by side.
fn tied_orders<T: Clone>(items: &[T], is_tie: &impl Fn(&T, &T) -> bool) -> Vec<Vec<T>> {
    let Some(first) = items.first() else { return vec![Vec::new()] };
    let tied = 1 + items[1..].iter().take_while(|item| is_tie(first, item)).count();
    let starting_with = |at: usize| {
        let mut rest = items.to_vec();
        let chosen = rest.remove(at);
        tied_orders(&rest, is_tie).into_iter().map(move |tail| [vec![chosen.clone()], tail].concat())
    };
    (0..tied).flat_map(starting_with).collect()
}

/// Every way to take one of the possibilities at each place.
fn combinations<T: Clone>(places: &[Vec<T>]) -> Vec<Vec<T>> {
    places.iter().fold(vec![Vec::new()], |so_far, possible| {
        let with = |done: &Vec<T>| possible.iter().map(|one| [done.clone(), vec![one.clone()]].concat()).collect();
        so_far.iter().flat_map::<Vec<_>, _>(with).collect()
    })
}
