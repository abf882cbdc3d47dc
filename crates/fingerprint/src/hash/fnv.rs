//! FNV-1 and FNV-1a (Fowler, Noll, Vo) at every published width.
//!
//! Each unit is xored in whole, also where it is a 16-bit code unit: that is the documents' rule. Every wide FNV
//! prime is `2^shift + 256 + low` with a small `low`, so a multiplication modulo `2^width` is a shift by whole and
//! part words plus a multiplication by a small number; no big-integer library is needed.

/// Whether a unit is xored in before or after the multiplication.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Order {
    /// FNV-1.
    MultiplyFirst,
    /// FNV-1a.
    XorFirst,
}

pub(super) fn fnv(units: impl Iterator<Item = u16>, width: u32, order: Order, out: &mut [u64]) {
    match width {
        32 => {
            let mut hash = 0x811c_9dc5_u32;
            for unit in units {
                hash = step(hash, u32::from(unit), order, |hash| hash.wrapping_mul(0x0100_0193));
            }
            fill(out, &[u64::from(hash)]);
        }
        64 => {
            let mut hash = 0xcbf2_9ce4_8422_2325_u64;
            for unit in units {
                hash = step(hash, u64::from(unit), order, |hash| hash.wrapping_mul(0x0100_0000_01b3));
            }
            fill(out, &[hash]);
        }
        128 => wide(units, order, &BASIS_128, Prime { shift: 88, low: 0x13b }, out),
        256 => wide(units, order, &BASIS_256, Prime { shift: 168, low: 0x163 }, out),
        512 => wide(units, order, &BASIS_512, Prime { shift: 344, low: 0x157 }, out),
        _ => wide(units, order, &BASIS_1024, Prime { shift: 680, low: 0x18d }, out),
    }
}

fn step<T: std::ops::BitXor<Output = T>>(hash: T, unit: T, order: Order, multiply: impl Fn(T) -> T) -> T {
    if order == Order::XorFirst { multiply(hash ^ unit) } else { multiply(hash) ^ unit }
}

/// The prime `2^shift + low`.
#[derive(Clone, Copy)]
struct Prime {
    shift: u32,
    low: u64,
}

fn wide<const W: usize>(
    units: impl Iterator<Item = u16>,
    order: Order,
    basis: &[u64; W],
    prime: Prime,
    out: &mut [u64],
) {
    let mut hash = *basis;
    for unit in units {
        if order == Order::XorFirst {
            hash[0] ^= u64::from(unit);
        }
        hash = prime.multiply(&hash);
        if order == Order::MultiplyFirst {
            hash[0] ^= u64::from(unit);
        }
    }
    fill(out, &hash);
}

impl Prime {
    /// `x * (2^shift + low)` modulo the width of `x`.
    fn multiply<const W: usize>(self, x: &[u64; W]) -> [u64; W] {
        let (whole, part) = ((self.shift / 64) as usize, self.shift % 64);
        let mut product = [0; W];
        let mut carry = 0u128;
        for i in 0..W {
            // A part shift is never 0 for the published primes (88, 168, 344 and 680 are no multiples of 64).
            let shifted = match i.checked_sub(whole) {
                None => 0,
                Some(0) => x[0] << part,
                Some(j) => x[j] << part | x[j - 1] >> (64 - part),
            };
            carry += u128::from(x[i]) * u128::from(self.low) + u128::from(shifted);
            product[i] = carry as u64;
            carry >>= 64;
        }
        product
    }
}

fn fill(out: &mut [u64], hash: &[u64]) {
    for (to, from) in out.iter_mut().zip(hash) {
        *to = *from;
    }
}

/// The offset basis of 128 bits, least significant word first.
const BASIS_128: [u64; 2] = [0x62b8_2175_6295_c58d, 0x6c62_272e_07bb_0142];

/// The offset basis of 256 bits, least significant word first.
const BASIS_256: [u64; 4] =
    [0x1023_b4c8_caee_0535, 0xc8b1_5368_47b6_bbb3, 0x2d98_c384_c4e5_76cc, 0xdd26_8dbc_aac5_5036];

/// The offset basis of 512 bits, least significant word first.
const BASIS_512: [u64; 8] = [
    0xac98_2aac_4afe_9fd9,
    0x1820_3641_5f56_e34b,
    0x2ea7_9bc9_42db_e7ce,
    0xe948_f68a_34c1_92f6,
    0x0000_0000_0000_0d21,
    0xac87_d059_c900_0000,
    0xdca1_e50f_3099_90ac,
    0xb86d_b0b1_171f_4416,
];

/// The offset basis of 1024 bits, least significant word first.
const BASIS_1024: [u64; 16] = [
    0xaff4_b16c_71ee_90b3,
    0x6bde_8cc9_c6a9_3b21,
    0x555f_256c_c005_ae55,
    0xeb6e_7380_2734_510a,
    0x0000_0000_0004_c6d7,
    0x0000_0000_0000_0000,
    0x0000_0000_0000_0000,
    0x0000_0000_0000_0000,
    0x0000_0000_0000_0000,
    0x0000_0000_0000_0000,
    0x9a21_d900_0000_0000,
    0x6c3b_f34e_da36_74da,
    0x4b29_fc42_23fd_ada1,
    0x32e5_6d5a_5910_28b7,
    0x005f_7a76_758e_cc4d,
    0x0000_0000_0000_0000,
];
