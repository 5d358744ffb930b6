//! Sedpack fb shards: FlatBuffers.
