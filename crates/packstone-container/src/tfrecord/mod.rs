//! TFRecord framing and tf.train.Example.
