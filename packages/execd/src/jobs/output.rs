//! A job's output in order of arrival: both streams in one log of blocks, the newest in memory, older ones on disk, the
//! oldest dropped and counted. Readers come with a cursor and take what they have not seen.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::jobs::spill::{BLOCK_BYTES, Slot, Spill};
use crate::run::relay::Output;

/// In front of each piece in a block: which stream, and how many bytes.
const HEAD_BYTES: usize = 5;
/// A piece of less is begun in the next block.
const MIN_PIECE_BYTES: usize = 256;
/// Of all jobs together. Above it each keeps only a few blocks in memory.
const MAX_MEMORY_BYTES: usize = 32 * 1024 * 1024;
const FEW_BLOCKS: usize = 2;
/// A finished job's output up to this size stays in memory.
const SMALL_BYTES: usize = 16 * 1024;

static IN_MEMORY: AtomicUsize = AtomicUsize::new(0);

fn is_memory_full() -> bool {
    IN_MEMORY.load(Ordering::Relaxed) > MAX_MEMORY_BYTES
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    pub memory_blocks: usize,
    pub disk_blocks: usize,
}

#[derive(Debug)]
enum Place {
    Memory(Vec<u8>),
    Disk(Slot),
}

#[derive(Debug)]
struct Block {
    /// Bytes of each stream before this block.
    starts: [u64; 2],
    size: usize,
    place: Place,
}

#[derive(Debug)]
pub struct Held {
    blocks: VecDeque<Block>,
    /// The number of the oldest block there is.
    first: u64,
    on_disk: usize,
    /// Where the last piece of the newest block begins.
    last_piece: usize,
    /// The memory of a block that has left, for the next one.
    spare: Vec<u8>,
    totals: [u64; 2],
    dropped: u64,
    bounds: Bounds,
    /// Blocks from here on are not dropped: a reader who slows the command is there.
    floor: Option<u64>,
}

/// What a reader has seen, and where it is.
#[derive(Clone, Debug)]
pub struct Cursor {
    pub seen: [u64; 2],
    block: u64,
    at: usize,
    /// Of each stream, the bytes before this place.
    reached: [u64; 2],
}

impl Cursor {
    pub fn from(seen: [u64; 2]) -> Cursor {
        Cursor { seen, block: 0, at: 0, reached: [0, 0] }
    }

    fn enter(&mut self, number: u64, block: &Block) {
        (self.block, self.at, self.reached) = (number, 0, block.starts);
    }
}

impl Held {
    pub fn new(bounds: Bounds) -> Held {
        Held {
            blocks: VecDeque::new(),
            first: 0,
            on_disk: 0,
            last_piece: 0,
            spare: Vec::new(),
            totals: [0, 0],
            dropped: 0,
            bounds,
            floor: None,
        }
    }

    pub fn totals(&self) -> [u64; 2] {
        self.totals
    }

    pub fn dropped(&self) -> u64 {
        self.dropped
    }

    pub fn held_bytes(&self) -> u64 {
        self.blocks.iter().map(|block| block.size as u64).sum()
    }

    pub fn set_bounds(&mut self, bounds: Bounds) {
        self.bounds = bounds;
    }

    pub fn set_floor(&mut self, cursor: Option<&Cursor>) {
        self.floor = cursor.map(|cursor| cursor.block);
    }

    pub fn unread(&self, cursor: &Cursor) -> u64 {
        self.totals.iter().zip(cursor.seen).map(|(total, seen)| total.saturating_sub(seen)).sum()
    }

    pub fn append(&mut self, from: Output, mut bytes: &[u8], spill: &Spill) {
        while !bytes.is_empty() {
            let last = self.blocks.back_mut();
            let room = last.as_ref().map_or(0, |block| BLOCK_BYTES - block.size);
            let extends = last.as_ref().is_some_and(|block| match &block.place {
                Place::Memory(held) => held.get(self.last_piece) == Some(&(from as u8)),
                Place::Disk(_) => false,
            });
            let head = if extends { 0 } else { HEAD_BYTES };
            let size = bytes.len().min(room.saturating_sub(head));
            let Some(Block { place: Place::Memory(held), size: filled, .. }) =
                last.filter(|_| size >= bytes.len().min(MIN_PIECE_BYTES))
            else {
                self.add_block(spill);
                continue;
            };
            let before = held.capacity();
            if !extends {
                self.last_piece = held.len();
                held.push(from as u8);
                held.extend_from_slice(&[0; 4]);
            }
            held.extend_from_slice(&bytes[..size]);
            IN_MEMORY.fetch_add(held.capacity() - before, Ordering::Relaxed);
            let length = (held.len() - self.last_piece - HEAD_BYTES) as u32;
            held[self.last_piece + 1..self.last_piece + HEAD_BYTES].copy_from_slice(&length.to_le_bytes());
            *filled = held.len();
            self.totals[from as usize] += size as u64;
            bytes = &bytes[size..];
        }
    }

    fn add_block(&mut self, spill: &Spill) {
        let buffer = std::mem::take(&mut self.spare);
        IN_MEMORY.fetch_add(buffer.capacity(), Ordering::Relaxed);
        self.blocks.push_back(Block { starts: self.totals, size: 0, place: Place::Memory(buffer) });
        self.last_piece = 0;
        let memory_blocks = match is_memory_full() {
            true => self.bounds.memory_blocks.min(FEW_BLOCKS),
            false => self.bounds.memory_blocks,
        };
        self.shrink_to(memory_blocks.max(1), spill);
    }

    /// Moves the oldest blocks in memory to disk, and drops the oldest of all where there is no room.
    fn shrink_to(&mut self, memory_blocks: usize, spill: &Spill) {
        while self.blocks.len() - self.on_disk > memory_blocks {
            if self.on_disk >= self.bounds.disk_blocks {
                if self.floor.is_some_and(|floor| floor <= self.first) {
                    return;
                }
                self.drop_oldest(spill);
                continue;
            }
            match self.spill_block(self.on_disk, spill) {
                true => self.on_disk += 1,
                // Nowhere to put it. What is older goes with it: the log has no hole.
                false => {
                    for _ in 0..=self.on_disk {
                        self.drop_oldest(spill);
                    }
                }
            }
        }
    }

    fn spill_block(&mut self, index: usize, spill: &Spill) -> bool {
        let Some(block) = self.blocks.get_mut(index) else { return false };
        let Place::Memory(held) = &mut block.place else { return false };
        let Some(slot) = spill.put(held) else { return false };
        IN_MEMORY.fetch_sub(held.capacity(), Ordering::Relaxed);
        self.spare = std::mem::take(held);
        self.spare.clear();
        block.place = Place::Disk(slot);
        true
    }

    fn drop_oldest(&mut self, spill: &Spill) {
        let Some(block) = self.blocks.pop_front() else { return };
        let next = self.blocks.front().map_or(self.totals, |next| next.starts);
        self.dropped += next[0] - block.starts[0] + next[1] - block.starts[1];
        self.first += 1;
        match block.place {
            Place::Memory(mut held) => {
                IN_MEMORY.fetch_sub(held.capacity(), Ordering::Relaxed);
                held.clear();
                self.spare = held;
            }
            Place::Disk(slot) => {
                self.on_disk -= 1;
                spill.free(slot);
            }
        }
    }

    /// The job has ended: what was in memory goes to disk, a little stays.
    pub fn settle(&mut self, spill: &Spill) {
        self.floor = None;
        self.release(spill);
        self.spare = Vec::new();
    }

    fn release(&mut self, spill: &Spill) {
        let is_much = self.blocks.len() > 1 || self.held_bytes() > SMALL_BYTES as u64;
        let most_on_disk = self.bounds.disk_blocks + self.bounds.memory_blocks;
        while is_much && self.on_disk < self.blocks.len().min(most_on_disk) && self.bounds.disk_blocks > 0 {
            if !self.spill_block(self.on_disk, spill) {
                break;
            }
            self.on_disk += 1;
        }
        // Where no disk takes it, it stays in memory, as long as there is some.
        while self.blocks.len() - self.on_disk > FEW_BLOCKS && is_memory_full() {
            self.drop_oldest(spill);
        }
        for block in &mut self.blocks {
            if let Place::Memory(held) = &mut block.place {
                let before = held.capacity();
                held.shrink_to_fit();
                IN_MEMORY.fetch_sub(before - held.capacity(), Ordering::Relaxed);
            }
        }
    }

    pub fn clear(&mut self, spill: &Spill) {
        while !self.blocks.is_empty() {
            self.drop_oldest(spill);
        }
    }

    /// The next bytes that the cursor has not seen, at most `max_bytes`, into a buffer that the caller has, and moves the
    /// cursor behind them. Of which stream, and from which offset on.
    pub fn next(
        &self,
        cursor: &mut Cursor,
        max_bytes: usize,
        spill: &Spill,
        bytes: &mut Vec<u8>,
    ) -> Option<(Output, u64)> {
        if cursor.block < self.first || cursor.block == 0 && cursor.at == 0 {
            cursor.enter(self.first, self.blocks.front()?);
        }
        loop {
            let index = (cursor.block - self.first) as usize;
            let block = self.blocks.get(index)?;
            let next = self.blocks.get(index + 1);
            let is_seen = |next: &Block| (0..2).all(|stream| next.starts[stream] <= cursor.seen[stream]);
            if let Some(next) = next
                && (cursor.at + HEAD_BYTES > block.size || is_seen(next))
            {
                cursor.enter(cursor.block + 1, next);
                continue;
            }
            if cursor.at + HEAD_BYTES > block.size {
                return None;
            }
            let mut head = [0; HEAD_BYTES];
            self.copy(block, cursor.at, &mut head, spill)?;
            let from = if head[0] == Output::Stdout as u8 { Output::Stdout } else { Output::Stderr };
            let size = u32::from_le_bytes([head[1], head[2], head[3], head[4]]) as usize;
            let (start, seen) = (cursor.reached[from as usize], cursor.seen[from as usize]);
            let skipped = usize::try_from(seen.saturating_sub(start)).unwrap_or(usize::MAX).min(size);
            if skipped < size {
                bytes.resize((size - skipped).min(max_bytes), 0);
                self.copy(block, cursor.at + HEAD_BYTES + skipped, bytes, spill)?;
                let offset = start + skipped as u64;
                cursor.seen[from as usize] = offset + bytes.len() as u64;
                return Some((from, offset));
            }
            if next.is_none() && cursor.at + HEAD_BYTES + size >= block.size {
                return None; // the newest piece, which may still grow
            }
            cursor.at += HEAD_BYTES + size;
            cursor.reached[from as usize] += size as u64;
        }
    }

    fn copy(&self, block: &Block, at: usize, bytes: &mut [u8], spill: &Spill) -> Option<()> {
        match &block.place {
            Place::Memory(held) => bytes.copy_from_slice(held.get(at..at + bytes.len())?),
            Place::Disk(slot) => spill.get(slot, at, bytes).then_some(())?,
        }
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WIDE: Bounds = Bounds { memory_blocks: 4, disk_blocks: 1000 };

    fn spill() -> Spill {
        Spill::new(vec![std::env::temp_dir()])
    }

    struct Piece {
        from: Output,
        offset: u64,
        bytes: Vec<u8>,
    }

    fn next(held: &Held, cursor: &mut Cursor, max_bytes: usize, spill: &Spill) -> Option<Piece> {
        let mut bytes = Vec::new();
        let (from, offset) = held.next(cursor, max_bytes, spill, &mut bytes)?;
        Some(Piece { from, offset, bytes })
    }

    fn read_all(held: &Held, cursor: &mut Cursor, spill: &Spill) -> [Vec<u8>; 2] {
        let mut streams = [Vec::new(), Vec::new()];
        while let Some(piece) = next(held, cursor, 1000, spill) {
            let stream = &mut streams[piece.from as usize];
            assert_eq!(cursor.seen[piece.from as usize], piece.offset + piece.bytes.len() as u64);
            stream.extend_from_slice(&piece.bytes);
        }
        streams
    }

    /// Different in every place, so that a wrong offset shows.
    fn bytes(start: usize, size: usize) -> Vec<u8> {
        (start..start + size).map(|number| (number * 7 + number / 251) as u8).collect()
    }

    #[test]
    fn both_streams_come_back_in_order_from_memory_and_disk() {
        let (spill, mut held) = (spill(), Held::new(WIDE));
        let (mut totals, mut reader) = ([0usize; 2], Cursor::from([0, 0]));
        let mut followed = [Vec::new(), Vec::new()];
        for round in 0..3000 {
            let stream = round % 3 % 2;
            let size = round * 37 % 900 + 1;
            let from = if stream == 0 { Output::Stdout } else { Output::Stderr };
            held.append(from, &bytes(totals[stream], size), &spill);
            totals[stream] += size;
            for (whole, part) in followed.iter_mut().zip(read_all(&held, &mut reader, &spill)) {
                whole.extend(part);
            }
        }
        assert!(held.on_disk > 0 && held.dropped() == 0);
        let whole = [bytes(0, totals[0]), bytes(0, totals[1])];
        assert!(followed == whole);
        assert!(read_all(&held, &mut Cursor::from([0, 0]), &spill) == whole);
        for from in [[1, 0], [0, 1], [400_000, 100_000], [totals[0] - 1, 0], [totals[0], totals[1]]] {
            let streams = read_all(&held, &mut Cursor::from(from.map(|at| at as u64)), &spill);
            for (stream, start) in
                streams.iter().zip(from).zip(&whole).map(|((s, start), w)| (s, &w[start..]))
            {
                assert!(stream == start);
            }
        }
        held.settle(&spill);
        assert!(read_all(&held, &mut Cursor::from([0, 0]), &spill) == whole);
    }

    #[test]
    fn the_order_of_two_streams_is_kept() {
        let (spill, mut held) = (spill(), Held::new(WIDE));
        for (from, text) in
            [(Output::Stdout, "a"), (Output::Stdout, "b"), (Output::Stderr, "c"), (Output::Stdout, "d")]
        {
            held.append(from, text.as_bytes(), &spill);
        }
        let mut cursor = Cursor::from([0, 0]);
        let pieces: Vec<_> = std::iter::from_fn(|| next(&held, &mut cursor, 99, &spill))
            .map(|piece| (piece.from, piece.offset, String::from_utf8_lossy(&piece.bytes).into_owned()))
            .collect();
        let expected = [(Output::Stdout, 0, "ab"), (Output::Stderr, 0, "c"), (Output::Stdout, 2, "d")];
        assert_eq!(pieces, expected.map(|(from, offset, text)| (from, offset, text.to_owned())));
    }

    #[test]
    fn what_is_too_much_is_dropped_and_counted() {
        for (folder, disk_blocks) in [(std::env::temp_dir(), 3), ("/nonexistent".into(), 1000)] {
            let spill = Spill::new(vec![folder]);
            let mut held = Held::new(Bounds { memory_blocks: 2, disk_blocks });
            let size = 20 * BLOCK_BYTES;
            for start in (0..size).step_by(1000) {
                held.append(Output::Stdout, &bytes(start, 1000.min(size - start)), &spill);
            }
            assert_eq!(held.totals(), [size as u64, 0]);
            let mut cursor = Cursor::from([0, 0]);
            let first = next(&held, &mut cursor, 10, &spill).expect("the rest is there");
            assert!(held.dropped() > 0 && first.offset == held.dropped());
            assert_eq!(first.bytes, bytes(first.offset as usize, 10));
            let rest = read_all(&held, &mut cursor, &spill);
            assert_eq!(rest[0].len() as u64 + 10 + held.dropped(), size as u64);
            held.clear(&spill);
            assert_eq!((held.dropped(), held.held_bytes()), (size as u64, 0));
        }
    }

    #[test]
    fn nothing_is_dropped_before_a_reader_who_slows_the_command() {
        let (spill, mut held) = (spill(), Held::new(Bounds { memory_blocks: 1, disk_blocks: 0 }));
        let mut cursor = Cursor::from([0, 0]);
        held.append(Output::Stdout, b"x", &spill);
        next(&held, &mut cursor, 1, &spill);
        held.set_floor(Some(&cursor));
        held.append(Output::Stdout, &bytes(0, 5 * BLOCK_BYTES), &spill);
        assert_eq!((held.dropped(), held.unread(&cursor)), (0, 5 * BLOCK_BYTES as u64));
        held.set_floor(None);
        held.append(Output::Stdout, &bytes(0, BLOCK_BYTES), &spill);
        assert!(held.dropped() > 0);
    }
}
