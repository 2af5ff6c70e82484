use explore::*;
use models::philosophers::*;
fn main() {
    let n: u32 = std::env::args().nth(1).unwrap().parse().unwrap();
    let t: usize = std::env::args().nth(2).unwrap().parse().unwrap();
    let p = Philosophers::new(n, ForkOrder::LeftFirst).unwrap();
    let r = Search::new(&p).threads(t).run().unwrap();
    println!(
        "{} states {} revisited {:.3}s {:.2}M states/s {} B/state depth {} viol {:?}",
        r.states,
        r.states_revisited,
        r.elapsed.as_secs_f64(),
        r.states as f64 / r.elapsed.as_secs_f64() / 1e6,
        (r.memory.visited_bytes + r.memory.link_bytes) / r.states,
        r.depth,
        r.violations.iter().map(|v| (v.property.name, v.count, v.trace.len())).collect::<Vec<_>>()
    );
}
