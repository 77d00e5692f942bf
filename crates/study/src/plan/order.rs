//! In which order the trials of a study run.

use crate::settings::Study;
use analysis::procedure::Outlook;
use workload::random::Draws;

/// One trial before it is spelled out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cell {
    /// Number of the variant.
    pub variant: usize,
    /// Number of the point.
    pub rung: usize,
    /// Number of the block.
    pub block: usize,
}

/// Sequential: variant by variant. Interleaved: in each block every variant has its turn, so that
/// drift of the machine falls on all of them. Variants with the same target take turns at every
/// point; others keep their target for all their points, since a start costs more than a trial. The
/// runs of a screening do not: with runs of one target in a row, what the machine does meanwhile
/// would be an effect of the target's settings.
///
/// Turns are counterbalanced (see [`balanced`]): chance alone gives `ab ab ba ab ab` often enough,
/// and what comes first or second in a block then counts as a difference. The points of several
/// blocks are too, unless a procedure decides by each over the next.
///
/// Blocks that were added to a run come behind, in an order of their own: those before them stay
/// as they were planned.
pub fn order(study: &Study, outlooks: &[Outlook]) -> Vec<Cell> {
    let mut cells = of_blocks(study, outlooks, study.seed, study.repeat.blocks);
    let mut before = study.repeat.blocks;
    for (seed, &blocks) in (study.seed.wrapping_add(1)..).zip(&study.added) {
        let added = of_blocks(study, outlooks, seed, blocks).into_iter();
        cells.extend(added.map(|cell| Cell {
            block: before + cell.block,
            ..cell
        }));
        before += blocks;
    }
    cells
}

fn of_blocks(study: &Study, outlooks: &[Outlook], seed: u64, blocks: usize) -> Vec<Cell> {
    let points = |variant: usize| outlooks[variant].turns_max;
    let mut cells = Vec::new();
    if !study.repeat.interleaved {
        for variant in 0..study.variants.len() {
            for block in 0..blocks {
                let rungs = 0..points(variant);
                cells.extend(rungs.map(|rung| Cell {
                    variant,
                    rung,
                    block,
                }));
            }
        }
        return cells;
    }
    let mut chance = Chance(Draws::sequence(seed));
    let groups = groups_by_target(study);
    let turns: Vec<Turns> = groups
        .iter()
        .map(|group| Turns::of(blocks, outlooks, group, &mut chance))
        .collect();
    let groups_in_order = balanced(groups.len(), blocks, &mut chance);
    for (block, groups_now) in groups_in_order.iter().enumerate() {
        for &group in groups_now {
            for &rung in &turns[group].rungs[block] {
                let turn = turns[group].variants[rung][block].iter().map(|&at| groups[group][at]);
                let there = turn.filter(|&variant| rung < points(variant));
                cells.extend(there.map(|variant| Cell {
                    variant,
                    rung,
                    block,
                }));
            }
        }
    }
    cells
}

/// What is known of each variant's points before anything is measured.
pub fn outlooks(study: &Study) -> Vec<Outlook> {
    let variants = study.variants.iter();
    variants.map(|variant| variant.settings.procedure.outlook()).collect()
}

/// The turns of variants that share a target.
struct Turns {
    /// By block: the points in their order.
    rungs: Vec<Vec<usize>>,
    /// By point and block: the variants in their order, as places in the group.
    variants: Vec<Vec<Vec<usize>>>,
}

impl Turns {
    fn of(blocks: usize, outlooks: &[Outlook], group: &[usize], chance: &mut Chance) -> Turns {
        let of_group = || group.iter().map(|variant| &outlooks[*variant]);
        let lengths = of_group().map(|outlook| outlook.turns_max);
        let rungs_max = lengths.max().unwrap_or(0);
        // One block has nothing to be balanced with, and is easier to follow when it rises.
        let must_rise = blocks == 1 || of_group().any(|outlook| !outlook.any_order);
        Turns {
            rungs: if must_rise {
                vec![(0..rungs_max).collect(); blocks]
            } else {
                balanced(rungs_max, blocks, chance)
            },
            variants: (0..rungs_max).map(|_| balanced(group.len(), blocks, chance)).collect(),
        }
    }
}

/// For each block an order of so many items. In every `items` blocks in a row from the first, each
/// item stands in each place once (a Latin square), so that over any number of blocks no item has
/// a place more than once more than another. The squares are Williams' (1949, "Experimental designs
/// balanced for the estimation of residual effects of treatments"): each item also follows each
/// other equally often, in one square of an even number, in two of an odd one. Which item is which,
/// and the order of a square's rows, are by chance.
pub(super) fn balanced(items: usize, blocks: usize, chance: &mut Chance) -> Vec<Vec<usize>> {
    let mut orders = Vec::with_capacity(blocks + items);
    let mut names: Vec<usize> = (0..items).collect();
    chance.shuffle(&mut names);
    let mut is_mirrored = false;
    while orders.len() < blocks {
        let mut square: Vec<Vec<usize>> = (0..items.max(1))
            .map(|row| {
                let name = |place: usize| names[(zigzag(place, items) + row) % items];
                let mut order: Vec<usize> = (0..items).map(name).collect();
                if is_mirrored {
                    order.reverse();
                }
                order
            })
            .collect();
        chance.shuffle(&mut square);
        orders.append(&mut square);
        is_mirrored = !is_mirrored;
    }
    orders.truncate(blocks);
    orders
}

/// 0, 1, n − 1, 2, n − 2, …: each step between neighbours is another one, modulo n.
fn zigzag(place: usize, items: usize) -> usize {
    match place % 2 {
        0 => (items - place / 2) % items,
        _ => place.div_ceil(2),
    }
}

fn groups_by_target(study: &Study) -> Vec<Vec<usize>> {
    let mut groups: Vec<Vec<usize>> = Vec::new();
    for (index, variant) in study.variants.iter().enumerate() {
        let target = &variant.settings.target;
        let same = |group: &&mut Vec<usize>| study.variants[group[0]].settings.target == *target;
        match groups.iter_mut().find(same) {
            Some(group) if study.screen.is_none() => group.push(index),
            _ => groups.push(vec![index]),
        }
    }
    groups
}

/// Seeded, the same on every machine; only shuffles.
pub(super) struct Chance(pub(super) Draws);

impl Chance {
    /// Fisher and Yates. The modulo's bias is below 2^-50 for any number of variants.
    fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            let other = (self.0.bits() % (last as u64 + 1)) as usize;
            items.swap(last, other);
        }
    }
}
