//! `vector_aglu` against the host's arithmetic, bit for bit and cycle by cycle.

use std::collections::VecDeque;

use alcor_abi::{Datatype, Operation};
use alcor_hw_bench::{Dut, Pace, Pin, Random, Recipe, Source, soak};
use rand::Rng;

/// Cycles from operands to result, and with registers at the inputs.
const LATENCY: usize = 6;
const LATE: usize = LATENCY + 1;
/// Number of lanes of the widest unit.
const LANES: usize = 8;
const NAN_64: u64 = 0x7FF8_0000_0000_0000;
const NAN_32: u32 = 0x7FC0_0000;

const FLOAT_OPERATIONS: [Operation; 4] = [
    Operation::Sum,
    Operation::Prod,
    Operation::Min,
    Operation::Max,
];
const BITWISE: [Operation; 3] = [Operation::Band, Operation::Bor, Operation::Bxor];

// Reference results

/// An operation on two floating-point numbers, for each of the two formats.
macro_rules! float_reference {
    ($name:ident, $float:ty, $bits:ty, $nan:expr) => {
        fn $name(operation: Operation, a: $bits, b: $bits) -> $bits {
            let (x, y) = (<$float>::from_bits(a), <$float>::from_bits(b));
            // IEEE 754-2019 minimum and maximum: a NaN prevails, -0 is below +0.
            let below = x < y || (x == y && x.is_sign_negative() && y.is_sign_positive());
            let result = match operation {
                Operation::Sum => x + y,
                Operation::Prod => x * y,
                Operation::Min | Operation::Max if x.is_nan() || y.is_nan() => <$float>::NAN,
                Operation::Min => {
                    if below {
                        x
                    } else {
                        y
                    }
                }
                Operation::Max => {
                    if below {
                        y
                    } else {
                        x
                    }
                }
                _ => return 0,
            };
            if result.is_nan() {
                $nan
            } else {
                result.to_bits()
            }
        }
    };
}

float_reference!(float64, f64, u64, NAN_64);
float_reference!(float32, f32, u32, NAN_32);

/// An operation on two integers, for each of the four types.
macro_rules! integer_reference {
    ($name:ident, $int:ty, $bits:ty) => {
        fn $name(operation: Operation, a: $bits, b: $bits) -> $bits {
            // The same bits in the type of the operation.
            let (x, y) = (a as $int, b as $int);
            (match operation {
                Operation::Sum => x.wrapping_add(y),
                Operation::Prod => x.wrapping_mul(y),
                Operation::Min => x.min(y),
                Operation::Max => x.max(y),
                Operation::Band => x & y,
                Operation::Bor => x | y,
                Operation::Bxor => x ^ y,
                Operation::Sync => 0,
            }) as $bits
        }
    };
}

integer_reference!(signed64, i64, u64);
integer_reference!(signed32, i32, u32);
integer_reference!(unsigned64, u64, u64);
integer_reference!(unsigned32, u32, u32);

/// Expected result of a lane with 64 bits of each operand.
pub fn reference(operation: Operation, datatype: Datatype, lane: usize, a: u64, b: u64) -> u64 {
    if operation == Operation::Sync {
        return if lane < 2 { a.wrapping_add(b) } else { a & b };
    }
    let halves = |each: fn(Operation, u32, u32) -> u32| {
        let low = each(operation, a as u32, b as u32);
        let high = each(operation, (a >> 32) as u32, (b >> 32) as u32);
        u64::from(high) << 32 | u64::from(low)
    };
    match datatype {
        Datatype::F64 => float64(operation, a, b),
        Datatype::F32 => halves(float32),
        Datatype::I64 => signed64(operation, a, b),
        Datatype::I32 => halves(signed32),
        Datatype::U64 => unsigned64(operation, a, b),
        Datatype::U32 => halves(unsigned32),
        Datatype::Software => 0,
    }
}

// Operands

/// A binary format.
#[derive(Clone, Copy)]
struct Format {
    exponent: u32,
    fraction: u32,
}

const F64: Format = Format {
    exponent: 11,
    fraction: 52,
};
const F32: Format = Format {
    exponent: 8,
    fraction: 23,
};

impl Format {
    fn of(datatype: Datatype) -> Option<Self> {
        match datatype {
            Datatype::F64 => Some(F64),
            Datatype::F32 => Some(F32),
            _ => None,
        }
    }

    fn width(self) -> u32 {
        1 + self.exponent + self.fraction
    }

    fn mask(self) -> u64 {
        u64::MAX >> (64 - self.width())
    }

    fn max(self) -> i64 {
        (1 << self.exponent) - 1
    }

    fn bias(self) -> i64 {
        self.max() >> 1
    }

    fn ones(self) -> u64 {
        (1 << self.fraction) - 1
    }

    fn number(self, negative: bool, exponent: i64, fraction: u64) -> u64 {
        let exponent = exponent.clamp(0, self.max()) as u64;
        u64::from(negative) << (self.width() - 1)
            | exponent << self.fraction
            | fraction & self.ones()
    }

    /// Boundary values.
    fn corners(self) -> Vec<u64> {
        let (ones, half, bias) = (self.ones(), 1 << (self.fraction - 1), self.bias());
        let digits = i64::from(self.fraction);
        let fractions = [0, 1, 2, half - 1, half, half + 1, ones - 1, ones];
        let exponents = [
            0,
            1,
            2,
            digits,
            digits + 1,
            digits + 2,
            bias - digits - 2,
            bias - digits - 1,
            bias - digits,
            bias - 1,
            bias,
            bias + 1,
            bias + digits,
            bias + digits + 1,
            self.max() - 2,
            self.max() - 1,
            self.max(),
        ];
        let mut corners = Vec::new();
        for negative in [false, true] {
            for exponent in exponents {
                for fraction in fractions {
                    corners.push(self.number(negative, exponent, fraction));
                }
            }
        }
        // A NaN with a payload, quiet and signalling.
        for fraction in [half | 0x1234, 0x1234] {
            corners.push(self.number(false, self.max(), fraction));
            corners.push(self.number(true, self.max(), fraction));
        }
        corners
    }

    /// A random fraction: any bits, few bits, or few bits at one end, so that ties are frequent.
    fn fraction(self, rng: &mut Random) -> u64 {
        let any = rng.random::<u64>();
        let length = (any >> 58) as u32 % (self.fraction + 1);
        match any & 7 {
            0 => rng.random::<u64>() & rng.random::<u64>() & rng.random::<u64>(),
            1 => (1 << length) - 1,
            2 => !((1 << length) - 1),
            3 => rng.random::<u64>() << length,
            4 => rng.random::<u64>() << (self.fraction / 2),
            _ => rng.random(),
        }
    }

    fn any(self, rng: &mut Random) -> u64 {
        let exponent = match rng.random_range(0..8) {
            0 => 0,
            1 => rng.random_range(0..=i64::from(self.fraction) + 2),
            2 => self.max() - rng.random_range(0..4),
            3 => self.bias() + rng.random_range(-3..=3),
            _ => rng.random_range(0..=self.max()),
        };
        let fraction = self.fraction(rng);
        self.number(rng.random(), exponent, fraction)
    }

    /// Two related numbers. Each relation provokes a typical error of such units.
    fn pair(self, rng: &mut Random) -> (u64, u64) {
        let a = self.any(rng);
        let exponent = (a >> self.fraction) as i64 & self.max();
        let digits = i64::from(self.fraction);
        let fraction = self.fraction(rng);
        let b = match rng.random_range(0..8) {
            // No relation.
            0 => self.any(rng),
            1 => rng.random::<u64>() & self.mask(),
            // Alignment, up to a distance beyond the last digit.
            2 => {
                let distance = rng.random_range(-digits - 4..=digits + 4);
                self.number(rng.random(), exponent + distance, fraction)
            }
            // Cancellation to few digits, with equal or adjacent exponents.
            3 => {
                let near = rng.random_range(0..5_u64).wrapping_mul(if rng.random() {
                    1
                } else {
                    u64::MAX
                });
                (a ^ 1 << (self.width() - 1)).wrapping_add(near) & self.mask()
            }
            4 => self.number(rng.random(), exponent + rng.random_range(-2..=2), fraction),
            // A product near the smallest numbers.
            5 => {
                let sum = rng.random_range(-digits - 3..=3);
                self.number(rng.random(), self.bias() + sum - exponent, fraction)
            }
            // A product near the largest numbers.
            6 => {
                let sum = self.max() + rng.random_range(-4..=2);
                self.number(rng.random(), self.bias() + sum - exponent, fraction)
            }
            // Both subnormal, or nearly subnormal.
            _ => self.number(rng.random(), rng.random_range(0..3), fraction),
        };
        if rng.random() { (a, b) } else { (b, a) }
    }
}

/// Operands of one lane.
fn operands(datatype: Datatype, rng: &mut Random) -> (u64, u64) {
    match Format::of(datatype) {
        Some(format) if format.width() == 64 => format.pair(rng),
        Some(format) => {
            let (low, high) = (format.pair(rng), format.pair(rng));
            (high.0 << 32 | low.0, high.1 << 32 | low.1)
        }
        None => {
            let (a, b) = (rng.random::<u64>(), rng.random::<u64>());
            let like = a ^ (b & b.rotate_left(7) & b.rotate_left(19));
            match rng.random_range(0..8) {
                0 => (a, a),
                1 => (a, like),
                2 => (a, a & 0xFFFF_FFFF_0000_0000 | b & 0xFFFF_FFFF),
                3 => (a & 0x8000_0000_8000_0000, b | 0x7FFF_FFFF_7FFF_FFFF),
                4 => (a | 0xFFFF_FFFF, b & 3),
                _ => (a, b),
            }
        }
    }
}

// Units

/// Returns whether a unit implements an operation on a type.
type Supports = fn(Operation, Datatype) -> bool;

struct Unit {
    name: &'static str,
    lanes: usize,
    latency: usize,
    /// Implemented operations and types.
    supports: Supports,
    valid_i: Pin,
    valid_o: Pin,
    result_o: Pin,
    tag_o: Pin,
    /// Expected results with their cycles.
    under_way: VecDeque<(u64, Job)>,
}

#[derive(Clone, Debug)]
struct Job {
    operation: Operation,
    datatype: Datatype,
    a: [u64; LANES],
    b: [u64; LANES],
    tag: u64,
}

struct Bench {
    dut: Dut,
    operation: Pin,
    datatype: Pin,
    a: Pin,
    b: Pin,
    tag: Pin,
    units: Vec<Unit>,
    checked: u64,
}

fn is_bitwise(operation: Operation) -> bool {
    BITWISE.contains(&operation)
}

fn all(operation: Operation, datatype: Datatype) -> bool {
    !(is_bitwise(operation) && Format::of(datatype).is_some())
}

fn sums(operation: Operation, datatype: Datatype) -> bool {
    operation == Operation::Sync || (operation == Operation::Sum && datatype == Datatype::F64)
}

fn half(operation: Operation, datatype: Datatype) -> bool {
    operation == Operation::Sync
        || (all(operation, datatype)
            && !matches!(operation, Operation::Max | Operation::Bxor)
            && matches!(datatype, Datatype::F32 | Datatype::I32))
}

impl Bench {
    fn new() -> Self {
        let mut dut = Dut::start(
            &Recipe::new("fp", "fp_bench")
                .blocks(&["abi", "fp"])
                .source("fp/bench/fp_bench.sv"),
        );
        let units: [(_, _, _, Supports); 4] = [
            ("full", 4, LATENCY, all),
            ("wide", 8, LATENCY, all),
            ("sums", 4, LATENCY, sums),
            ("half", 2, LATE, half),
        ];
        let units = units
            .map(|(name, lanes, latency, supports)| Unit {
                name,
                lanes,
                latency,
                supports,
                valid_i: dut.pin(&format!("{name}_valid_i")),
                valid_o: dut.pin(&format!("{name}_valid_o")),
                result_o: dut.lanes(&format!("{name}_result_o"), lanes),
                tag_o: dut.pin(&format!("{name}_tag_o")),
                under_way: VecDeque::new(),
            })
            .into();
        dut.reset();
        Self {
            operation: dut.pin("operation_i"),
            datatype: dut.pin("datatype_i"),
            a: dut.lanes("a_i", LANES),
            b: dut.lanes("b_i", LANES),
            tag: dut.pin("tag_i"),
            units,
            checked: 0,
            dut,
        }
    }

    /// One cycle. The units in `mask` receive the job. The other units receive the same inputs,
    /// marked as invalid.
    fn cycle(&mut self, job: Option<&Job>, mask: u32) {
        let Self { dut, .. } = self;
        let now = dut.cycle();
        if let Some(job) = job {
            dut.set(self.operation, 0, job.operation as u64);
            dut.set(self.datatype, 0, job.datatype as u64);
            dut.set(self.tag, 0, job.tag);
            let lanes = if mask & 2 != 0 { LANES } else { LANES / 2 };
            for lane in 0..lanes {
                dut.set(self.a, lane, job.a[lane]);
                dut.set(self.b, lane, job.b[lane]);
            }
        }
        for (at, unit) in self.units.iter_mut().enumerate() {
            let valid = job.filter(|_| mask >> at & 1 == 1);
            dut.set(unit.valid_i, 0, u64::from(valid.is_some()));
            if let Some(job) = valid {
                unit.under_way
                    .push_back((now + unit.latency as u64, job.clone()));
            }
        }
        dut.settle();
        for unit in &mut self.units {
            let is_due = unit
                .under_way
                .front()
                .is_some_and(|(cycle, _)| *cycle == now);
            let due = is_due.then(|| unit.under_way.pop_front()).flatten();
            let valid = dut.get(unit.valid_o, 0) == 1;
            assert_eq!(valid, due.is_some(), "{}: valid, cycle {now}", unit.name);
            let Some((_, job)) = due else { continue };
            assert_eq!(dut.get(unit.tag_o, 0), job.tag, "{}: tag", unit.name);
            for lane in 0..unit.lanes {
                let (a, b) = (job.a[lane], job.b[lane]);
                let expected = if (unit.supports)(job.operation, job.datatype) {
                    reference(job.operation, job.datatype, lane, a, b)
                } else {
                    0
                };
                let result = dut.get(unit.result_o, lane);
                assert_eq!(
                    result, expected,
                    "{}: {:?} {:?}, lane {lane}: {a:#018x} and {b:#018x} give {result:#018x}, not {expected:#018x}",
                    unit.name, job.operation, job.datatype
                );
                self.checked += 1;
            }
        }
        dut.clock();
    }

    /// Runs until no job is in flight.
    fn drain(&mut self) {
        for _ in 0..=LATE {
            self.cycle(None, 0);
        }
        assert!(self.units.iter().all(|unit| unit.under_way.is_empty()));
    }
}

/// Jobs of one operation that contain the operands of all given lanes.
fn jobs(
    operation: Operation,
    datatype: Datatype,
    pairs: impl Iterator<Item = (u64, u64)>,
) -> Vec<Job> {
    let pairs: Vec<(u64, u64)> = pairs.collect();
    let jobs = pairs.chunks(LANES / 2).enumerate().map(|(at, chunk)| {
        let mut job = Job {
            operation,
            datatype,
            a: [0; LANES],
            b: [0; LANES],
            tag: at as u64 & 0xFFFF,
        };
        for (lane, &(a, b)) in chunk.iter().enumerate() {
            (job.a[lane], job.b[lane]) = (a, b);
        }
        job
    });
    jobs.collect()
}

// Benches

/// All pairs of boundary values, for all operations of floating-point types.
#[test]
fn fp_corners() {
    let mut bench = Bench::new();
    for operation in FLOAT_OPERATIONS {
        let corners = F64.corners();
        let pairs = corners
            .iter()
            .flat_map(|&a| corners.iter().map(move |&b| (a, b)));
        for job in jobs(operation, Datatype::F64, pairs) {
            bench.cycle(Some(&job), 0b0101);
        }
        let corners = F32.corners();
        // The halves have different pairs.
        let pairs = corners.iter().enumerate().flat_map(|(at, &a)| {
            let corners = &corners;
            (0..corners.len()).map(move |other| {
                let high = (at + other) % corners.len();
                (corners[high] << 32 | a, corners[at] << 32 | corners[other])
            })
        });
        for job in jobs(operation, Datatype::F32, pairs) {
            bench.cycle(Some(&job), 0b1001);
        }
    }
    bench.drain();
    assert!(bench.checked > 300_000);
}

/// Results written out here, independent of the host's arithmetic.
#[test]
fn fp_known() {
    use Operation::{Max, Min, Prod, Sum};
    let cases64: &[(Operation, u64, u64, u64)] = &[
        // The midpoint between 1 and the next number rounds to 1, a slightly larger number to the
        // next.
        (
            Sum,
            0x3FF0_0000_0000_0000,
            0x3CA0_0000_0000_0000,
            0x3FF0_0000_0000_0000,
        ),
        (
            Sum,
            0x3FF0_0000_0000_0000,
            0x3CA0_0000_0000_0001,
            0x3FF0_0000_0000_0001,
        ),
        (
            Sum,
            0x3FF0_0000_0000_0001,
            0x3CA0_0000_0000_0000,
            0x3FF0_0000_0000_0002,
        ),
        // Two subnormal numbers make the smallest normal one.
        (
            Sum,
            0x0008_0000_0000_0000,
            0x0008_0000_0000_0000,
            0x0010_0000_0000_0000,
        ),
        // Cancellation leaves a subnormal number, or +0.
        (
            Sum,
            0x0010_0000_0000_0001,
            0x8010_0000_0000_0000,
            0x0000_0000_0000_0001,
        ),
        (Sum, 0x3FF0_0000_0000_0000, 0xBFF0_0000_0000_0000, 0),
        (Sum, 1 << 63, 1 << 63, 1 << 63),
        (Sum, 1 << 63, 0, 0),
        (
            Sum,
            0x7FEF_FFFF_FFFF_FFFF,
            0x7C90_0000_0000_0000,
            0x7FF0_0000_0000_0000,
        ),
        (
            Sum,
            0x7FEF_FFFF_FFFF_FFFF,
            0x7C8F_FFFF_FFFF_FFFF,
            0x7FEF_FFFF_FFFF_FFFF,
        ),
        (Sum, 0x7FF0_0000_0000_0000, 0xFFF0_0000_0000_0000, NAN_64),
        (Sum, 0xFFF4_0000_0000_0001, 0x3FF0_0000_0000_0000, NAN_64),
        // 2^-537 squared is the smallest number; half of it is a tie, and goes to 0.
        (Prod, 0x1E60_0000_0000_0000, 0x1E60_0000_0000_0000, 1),
        (Prod, 0x1E60_0000_0000_0000, 0x1E50_0000_0000_0000, 0),
        (
            Prod,
            0x1E60_0000_0000_0001,
            0x9E50_0000_0000_0000,
            1 << 63 | 1,
        ),
        (
            Prod,
            0x0000_0000_0000_0001,
            0x7FE0_0000_0000_0000,
            0x3CC0_0000_0000_0000,
        ),
        (Prod, 0x0000_0000_0000_0000, 0xFFF0_0000_0000_0000, NAN_64),
        (
            Prod,
            0x8000_0000_0000_0000,
            0x3FF0_0000_0000_0000,
            0x8000_0000_0000_0000,
        ),
        (Min, 0, 1 << 63, 1 << 63),
        (Max, 1 << 63, 0, 0),
        (Min, 0xFFF0_0000_0000_0000, 0x7FF0_0000_0000_0001, NAN_64),
        (Max, 0xFFF8_0000_0000_0001, 0x7FF0_0000_0000_0000, NAN_64),
    ];
    for &(operation, a, b, expected) in cases64 {
        for (a, b) in [(a, b), (b, a)] {
            assert_eq!(
                reference(operation, Datatype::F64, 0, a, b),
                expected,
                "the host's {operation:?} of {a:#x} and {b:#x}"
            );
        }
    }
    let pairs = cases64.iter().map(|case| (case.1, case.2));
    let mut bench = Bench::new();
    for operation in FLOAT_OPERATIONS {
        for job in jobs(operation, Datatype::F64, pairs.clone()) {
            bench.cycle(Some(&job), 0b0001);
        }
    }
    bench.drain();
}

/// Random mixture: more than a million pairs of each floating-point type and operation, fewer of
/// the rest, with gaps. Each unit returns only its own jobs.
#[test]
fn fp_random() {
    let mut rng = Random::new("fp_random");
    let mut bench = Bench::new();
    let mut left = Vec::new();
    for &datatype in Datatype::ALL {
        for &operation in Operation::ALL {
            let elements = match datatype {
                Datatype::F64 | Datatype::I64 | Datatype::U64 | Datatype::Software => 4,
                Datatype::F32 | Datatype::I32 | Datatype::U32 => 8,
            };
            let is_float = Format::of(datatype).is_some();
            let pairs: u64 = match operation {
                Operation::Sync => 2_000,
                _ if is_bitwise(operation) => 10_000,
                _ if is_float => 1_000_000,
                _ => 100_000,
            };
            left.push((operation, datatype, soak(pairs.div_ceil(elements))));
        }
    }
    let mut source = Source::new(Pace::Always);
    let mut cycle: u64 = 0;
    while !left.is_empty() {
        if cycle.is_multiple_of(4_096) {
            source.set_pace(match rng.random_range(0..8) {
                0 => Pace::Chance(0.5),
                1 => Pace::Bursts { on: 9, off: 9 },
                2 => Pace::Chance(0.1),
                _ => Pace::Always,
            });
        }
        cycle += 1;
        if source.is_empty() {
            source.push(());
        }
        // Random values on invalid inputs.
        let willing = source.offer(&mut *rng).is_some();
        source.take(willing);
        let at = rng.random_range(0..left.len());
        let (operation, datatype, count) = &mut left[at];
        let mut job = Job {
            operation: *operation,
            datatype: *datatype,
            a: [0; LANES],
            b: [0; LANES],
            tag: rng.random_range(0..1 << 16),
        };
        // The other units have the same interior, so they are checked less often.
        let mask = if !willing {
            0
        } else if rng.random_range(0..32) == 0 {
            rng.random_range(0..16) | 1
        } else {
            1
        };
        for lane in 0..if mask & 2 != 0 { LANES } else { LANES / 2 } {
            (job.a[lane], job.b[lane]) = operands(job.datatype, &mut rng);
        }
        bench.cycle(Some(&job), mask);
        if willing {
            *count -= 1;
            if *count == 0 {
                left.swap_remove(at);
            }
        }
    }
    bench.drain();
    assert!(bench.checked > 7_000_000);
}

/// A reset drops the jobs in flight, at every stage of the pipeline.
#[test]
fn fp_reset() {
    let mut rng = Random::new("fp_reset");
    let mut bench = Bench::new();
    for under_way in 0..=LATE {
        for at in 0..3 * LATE {
            let (a, b) = operands(Datatype::F64, &mut rng);
            let job = Job {
                operation: FLOAT_OPERATIONS[at % 4],
                datatype: Datatype::F64,
                a: [a; LANES],
                b: [b; LANES],
                tag: at as u64,
            };
            bench.cycle((at % 3 <= under_way % 3).then_some(&job), 0b1111);
        }
        for _ in 0..under_way {
            bench.cycle(None, 0);
        }
        bench.dut.reset();
        for unit in &mut bench.units {
            unit.under_way.clear();
        }
        bench.drain();
    }
}
