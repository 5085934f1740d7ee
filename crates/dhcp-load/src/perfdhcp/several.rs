//! Several perfdhcp generators as one (`--generators`): a coordinator starts copies of this program
//! over SSH, gives each of them its part of the run, compares their clocks with its own, starts all
//! of them at one time, and adds up their counts.
//!
//! The coordinator measures nothing itself. Parts are those of [`super::part`]; [`message`] defines
//! the messages, and [`super::outcome`] the counts of a run and their sum.

pub(crate) mod carried;
pub(crate) mod coordinate;
pub(crate) mod follow;
pub(crate) mod generator;
pub(crate) mod generator_group;
pub(crate) mod message;
pub(crate) mod remote_generator;
pub(crate) mod standings;

#[cfg(test)]
mod tests {
    use base::Random;
    use clap::Parser;

    use super::super::args::PerfdhcpArgs;
    use super::super::drive::RequestPacing;
    use super::super::part::GeneratorPart;
    use super::super::plan;

    /// Returns the arguments of one part of a run.
    fn part_of(line: &str, part: GeneratorPart) -> PerfdhcpArgs {
        let words = std::iter::once("perfdhcp").chain(line.split_whitespace());
        PerfdhcpArgs { part, ..PerfdhcpArgs::try_parse_from(words).unwrap() }
    }

    /// Returns the due times of first requests, renewals and releases, with their limits by -n.
    fn due(args: &PerfdhcpArgs) -> [Vec<u64>; 3] {
        let shape = plan::shape(args).unwrap();
        let (pacing, leases) = plan::schedules(args, shape.as_ref(), 7, 3);
        let count = plan::limits(args, shape.as_ref()).counts[0].unwrap_or(u64::MAX);
        let RequestPacing::Scheduled(firsts) = pacing else { panic!("a rate was given") };
        let [renewals, releases] = leases;
        [(Some(firsts), count), (renewals, u64::MAX), (releases, u64::MAX)].map(
            |(schedule, count)| {
                let Some(mut schedule) = schedule else { return Vec::new() };
                let times = std::iter::from_fn(move || schedule.take(u64::MAX));
                times.take(count as usize).collect()
            },
        )
    }

    #[test]
    fn the_parts_laid_over_each_other_are_the_run() {
        let mut random = Random::from_seed(77);
        for round in 0..60 {
            let mut below = |most: u64| random.below(most) + 1;
            let of = below(6) as u32;
            let (rate, period) = (below(900) + 20, below(4));
            let shapes = ["even", "burst:7", "ramp:10%..90%", "steps:30%,0%,100%"];
            let shape = shapes[round % shapes.len()];
            let (renew, release) = (below(rate / 4), below(rate / 4));
            let mut line = format!(
                "-r {rate} -p {period} -R 50 -f {renew} -F {release} --shape {shape} 127.0.0.1"
            );
            if round % 3 == 0 {
                line = format!("{line} -n {}", below(rate) + u64::from(of));
            }
            let whole = due(&part_of(&line, GeneratorPart::WHOLE));
            let mut parts = [(); 3].map(|()| Vec::new());
            for index in 0..of {
                let own = due(&part_of(&line, GeneratorPart { index, of }));
                let most = whole[0].len().div_ceil(of as usize);
                assert!(own[0].len() <= most, "{line}: part {index} of {of}");
                for (all, own) in parts.iter_mut().zip(own) {
                    all.extend(own);
                }
            }
            for (kind, all) in parts.iter_mut().enumerate() {
                all.sort_unstable();
                assert_eq!(*all, whole[kind], "{line}: kind {kind} in {of} parts");
            }
        }
    }

    #[test]
    fn a_poisson_process_and_a_pile_are_divided_too() {
        let line = "-r 2000 -p 20 -R 50 --shape poisson 127.0.0.1";
        let parts =
            [0, 1, 2].map(|index| due(&part_of(line, GeneratorPart { index, of: 3 }))[0].clone());
        let sum: usize = parts.iter().map(Vec::len).sum();
        assert!(sum.abs_diff(40_000) < 1_000, "{sum}");
        assert!(parts[0] != parts[1] && parts[1] != parts[2]);
        for (line, count) in [("--scenario avalanche -R 1001 x", 1_001), ("-R 77 -P 1001 x", 1_001)]
        {
            let share = |index| {
                let args = part_of(line, GeneratorPart { index, of: 4 });
                match plan::schedules(&args, None, 0, 1).0 {
                    RequestPacing::AtOnce(count) => count,
                    _ => args.part.share(args.preload.into()),
                }
            };
            assert_eq!((0..4).map(share).sum::<u64>(), count);
        }
    }
}
