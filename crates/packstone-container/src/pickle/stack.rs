//! The stack with its marks, and the memo.

use std::collections::HashMap;

use super::program::Instruction;
use super::{PickleError, PickleErrorKind as Kind};

/// What instructions work on. Values below the last mark are out of reach.
pub(super) struct Stack<T> {
    items: Vec<T>,
    marks: Vec<usize>,
    memo: HashMap<u64, T>,
}

impl<T: Clone> Stack<T> {
    pub(super) fn new() -> Self {
        Self { items: Vec::new(), marks: Vec::new(), memo: HashMap::new() }
    }

    pub(super) fn push(&mut self, item: T) {
        self.items.push(item);
    }

    pub(super) fn mark(&mut self) {
        self.marks.push(self.items.len());
    }

    fn reachable(&self) -> usize {
        self.items.len() - self.marks.last().copied().unwrap_or_default().min(self.items.len())
    }

    /// Takes the topmost value.
    pub(super) fn pop(&mut self, by: &Instruction<'_>) -> Result<T, PickleError> {
        self.top(by)?;
        self.items.pop().ok_or_else(|| by.fail(Kind::Underflow { opcode: by.opcode }))
    }

    /// The topmost value.
    pub(super) fn top(&self, by: &Instruction<'_>) -> Result<&T, PickleError> {
        let top = self.items.last().filter(|_| self.reachable() > 0);
        top.ok_or_else(|| by.fail(Kind::Underflow { opcode: by.opcode }))
    }

    /// Takes the `count` topmost values, lowest first.
    pub(super) fn take(
        &mut self,
        count: usize,
        by: &Instruction<'_>,
    ) -> Result<Vec<T>, PickleError> {
        match self.items.len().checked_sub(count) {
            Some(from) if count <= self.reachable() => Ok(self.items.split_off(from)),
            _ => Err(by.fail(Kind::Underflow { opcode: by.opcode })),
        }
    }

    /// Takes all values above the last mark, lowest first, and the mark.
    pub(super) fn take_marked(&mut self, by: &Instruction<'_>) -> Result<Vec<T>, PickleError> {
        let no_mark = || by.fail(Kind::NoMark { opcode: by.opcode });
        let mark = self.marks.pop().ok_or_else(no_mark)?;
        Ok(self.items.split_off(mark.min(self.items.len())))
    }

    /// POP: the topmost value or mark.
    pub(super) fn drop_top(&mut self, by: &Instruction<'_>) -> Result<(), PickleError> {
        if self.reachable() == 0 && self.marks.pop().is_some() {
            return Ok(());
        }
        self.pop(by).map(drop)
    }

    /// Remembers the topmost value under `index`, or under the next free one.
    pub(super) fn remember(
        &mut self,
        index: Option<u64>,
        by: &Instruction<'_>,
    ) -> Result<(), PickleError> {
        let item = self.top(by)?.clone();
        self.memo.insert(index.unwrap_or(self.memo.len() as u64), item);
        Ok(())
    }

    /// Pushes what is remembered under `index`.
    pub(super) fn recall(&mut self, index: u64, by: &Instruction<'_>) -> Result<(), PickleError> {
        let item = self.memo.get(&index).cloned();
        self.push(item.ok_or_else(|| by.fail(Kind::NotInMemo { index }))?);
        Ok(())
    }

    /// STOP: the one value that is left.
    pub(super) fn last(&mut self, by: &Instruction<'_>) -> Result<T, PickleError> {
        let last = self.pop(by)?;
        if self.items.is_empty() && self.marks.is_empty() {
            Ok(last)
        } else {
            Err(by.fail(Kind::Leftover))
        }
    }
}
