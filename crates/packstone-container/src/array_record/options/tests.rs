//! The original was asked about every text here.

use super::*;

/// A text and the options that the original stores for it, three names shortened and the last option left out; or what
/// it has against the text.
#[rustfmt::skip]
const WRITER: &[(&str, &str)] = &[
    ("", "g:1,t:false,p:false,zstd:3,window_log:20"),
    ("default", "g:1,t:false,p:false,zstd:3,window_log:20"),
    ("default:xyz", "g:1,t:false,p:false,zstd:3,window_log:20"),
    ("group_size:1,default", "! default first"),
    ("default,default", "! repeated default"),
    ("group_size: 5 ", "g:5,t:false,p:false,zstd:3,window_log:20"),
    ("group_size:+5", "g:5,t:false,p:false,zstd:3,window_log:20"),
    ("group_size:-5", "! value group_size"),
    ("group_size:0", "! value group_size"),
    ("group_size:05", "g:5,t:false,p:false,zstd:3,window_log:20"),
    ("group_size:2147483647", "g:2147483647,t:false,p:false,zstd:3,window_log:20"),
    ("group_size:2147483648", "! value group_size"),
    ("group_size:", "! value group_size"),
    ("group_size", "! value group_size"),
    ("group_size:5x", "! value group_size"),
    ("group_size:0x5", "! value group_size"),
    (" group_size:5", "! unknown  group_size"),
    ("group_size :5", "! unknown group_size "),
    (",,group_size:5,,", "g:5,t:false,p:false,zstd:3,window_log:20"),
    ("group_size:5:6", "! value group_size"),
    ("Group_size:5", "! unknown Group_size"),
    ("group_size:5,group_size:6", "! repeated group_size"),
    ("foo", "! unknown foo"),
    ("foo:1", "! unknown foo"),
    ("transpose", "g:1,t:true,p:false,transpose_bucket_size:256,zstd:3,window_log:20"),
    ("transpose:", "g:1,t:true,p:false,transpose_bucket_size:256,zstd:3,window_log:20"),
    ("transpose:true", "g:1,t:true,p:false,transpose_bucket_size:256,zstd:3,window_log:20"),
    ("transpose:false", "g:1,t:false,p:false,zstd:3,window_log:20"),
    ("transpose:True", "! value transpose"),
    ("transpose:1", "! value transpose"),
    ("pad_to_block_boundary", "g:1,t:false,p:false,zstd:3,window_log:20"),
    ("pad_to_block_boundary:", "g:1,t:false,p:false,zstd:3,window_log:20"),
    ("pad_to_block_boundary:true", "g:1,t:false,p:true,zstd:3,window_log:20"),
    ("uncompressed", "g:1,t:false,p:false,uncompressed"),
    ("uncompressed:", "g:1,t:false,p:false,uncompressed"),
    ("uncompressed:1", "! value uncompressed"),
    ("uncompressed:true", "! value uncompressed"),
    ("brotli", "g:1,t:false,p:false,brotli:6"),
    ("brotli:", "g:1,t:false,p:false,brotli:6"),
    ("brotli:0", "g:1,t:false,p:false,brotli:0"),
    ("brotli:11", "g:1,t:false,p:false,brotli:11"),
    ("brotli:12", "! value brotli"),
    ("brotli:-1", "! value brotli"),
    ("brotli: 3", "g:1,t:false,p:false,brotli:3"),
    ("zstd", "g:1,t:false,p:false,zstd:3,window_log:20"),
    ("zstd:", "g:1,t:false,p:false,zstd:3,window_log:20"),
    ("zstd:0", "g:1,t:false,p:false,zstd:0,window_log:20"),
    ("zstd:22", "g:1,t:false,p:false,zstd:22,window_log:20"),
    ("zstd:23", "! value zstd"),
    ("zstd:-131072", "g:1,t:false,p:false,zstd:-131072,window_log:20"),
    ("zstd:-131073", "! value zstd"),
    ("zstd:+5", "g:1,t:false,p:false,zstd:5,window_log:20"),
    ("snappy", "g:1,t:false,p:false,snappy"),
    ("snappy:", "g:1,t:false,p:false,snappy"),
    ("snappy:1", "g:1,t:false,p:false,snappy"),
    ("snappy:2", "g:1,t:false,p:false,snappy"),
    ("snappy:0", "! value snappy"),
    ("snappy:3", "! value snappy"),
    ("zstd,brotli", "! conflict zstd brotli"),
    ("brotli,uncompressed", "! conflict brotli uncompressed"),
    ("snappy,zstd:3", "! conflict snappy zstd"),
    ("uncompressed,snappy", "! conflict uncompressed snappy"),
    ("window_log:10", "g:1,t:false,p:false,zstd:3,window_log:10"),
    ("window_log:9", "! value window_log"),
    ("window_log:31", "g:1,t:false,p:false,zstd:3,window_log:31"),
    ("window_log:32", "! value window_log"),
    ("window_log:auto", "g:1,t:false,p:false,zstd:3,window_log:20"),
    ("window_log:", "! value window_log"),
    ("window_log", "! value window_log"),
    ("brotli,window_log:10", "g:1,t:false,p:false,brotli:6,window_log:10"),
    ("brotli,window_log:30", "g:1,t:false,p:false,brotli:6,window_log:30"),
    ("brotli,window_log:31", "! value window_log"),
    ("brotli,window_log:auto", "g:1,t:false,p:false,brotli:6"),
    ("window_log:15,brotli", "g:1,t:false,p:false,brotli:6,window_log:15"),
    ("uncompressed,window_log:20", "! conflict uncompressed window_log"),
    ("uncompressed,window_log:auto", "! conflict uncompressed window_log"),
    ("snappy,window_log:20", "! conflict snappy window_log"),
    ("window_log:20,snappy", "! conflict window_log snappy"),
    ("window_log:31,brotli", "! value window_log"),
    ("zstd:0,window_log:25", "g:1,t:false,p:false,zstd:0,window_log:25"),
    ("max_parallelism:5", "g:1,t:false,p:false,zstd:3,window_log:20"),
    ("max_parallelism:auto", "g:1,t:false,p:false,zstd:3,window_log:20"),
    ("max_parallelism:0", "! value max_parallelism"),
    ("max_parallelism:-1", "! value max_parallelism"),
    ("max_parallelism:", "! value max_parallelism"),
    ("saturation_delay_ms:5", "g:1,t:false,p:false,zstd:3,window_log:20"),
    ("saturation_delay_ms:0", "! value saturation_delay_ms"),
    ("saturation_delay_ms:auto", "! value saturation_delay_ms"),
    ("transpose,transpose_bucket_size:auto", "g:1,t:true,p:false,transpose_bucket_size:256,zstd:3,window_log:20"),
    ("transpose,transpose_bucket_size:1", "g:1,t:true,p:false,transpose_bucket_size:1,zstd:3,window_log:20"),
    ("transpose,transpose_bucket_size:0", "! value transpose_bucket_size"),
    ("transpose,transpose_bucket_size:1k", "g:1,t:true,p:false,transpose_bucket_size:1024,zstd:3,window_log:20"),
    ("transpose,transpose_bucket_size:1K", "g:1,t:true,p:false,transpose_bucket_size:1024,zstd:3,window_log:20"),
    ("transpose,transpose_bucket_size:1.5k", "g:1,t:true,p:false,transpose_bucket_size:1536,zstd:3,window_log:20"),
    ("transpose,transpose_bucket_size:1M", "g:1,t:true,p:false,transpose_bucket_size:1048576,zstd:3,window_log:20"),
    ("transpose,transpose_bucket_size:1G", "g:1,t:true,p:false,transpose_bucket_size:1073741824,zstd:3,window_log:20"),
    ("transpose,transpose_bucket_size:1T", "g:1,t:true,p:false,transpose_bucket_size:1099511627776,zstd:3,window_log:20"),
    ("transpose,transpose_bucket_size:1P", "g:1,t:true,p:false,transpose_bucket_size:1125899906842624,zstd:3,window_log:20"),
    ("transpose,transpose_bucket_size:1E", "g:1,t:true,p:false,transpose_bucket_size:1152921504606846976,zstd:3,window_log:20"),
    ("transpose,transpose_bucket_size:15E", "g:1,t:true,p:false,transpose_bucket_size:17293822569102704640,zstd:3,window_log:20"),
    ("transpose,transpose_bucket_size:16E", "g:1,t:true,p:false,transpose_bucket_size:18446744073709551615,zstd:3,window_log:20"),
    ("transpose,transpose_bucket_size:100B", "g:1,t:true,p:false,transpose_bucket_size:100,zstd:3,window_log:20"),
    ("transpose,transpose_bucket_size:1kB", "! value transpose_bucket_size"),
    ("transpose,transpose_bucket_size:0.4", "! value transpose_bucket_size"),
    ("transpose,transpose_bucket_size:0.5", "g:1,t:true,p:false,transpose_bucket_size:1,zstd:3,window_log:20"),
    ("transpose,transpose_bucket_size:0.6", "g:1,t:true,p:false,transpose_bucket_size:1,zstd:3,window_log:20"),
    ("transpose,transpose_bucket_size:1.5", "g:1,t:true,p:false,transpose_bucket_size:2,zstd:3,window_log:20"),
    ("transpose,transpose_bucket_size:2.5", "g:1,t:true,p:false,transpose_bucket_size:3,zstd:3,window_log:20"),
    ("transpose,transpose_bucket_size:1e3", "g:1,t:true,p:false,transpose_bucket_size:1000,zstd:3,window_log:20"),
    ("transpose,transpose_bucket_size:1e3k", "g:1,t:true,p:false,transpose_bucket_size:1024000,zstd:3,window_log:20"),
    ("transpose,transpose_bucket_size: 5 ", "g:1,t:true,p:false,transpose_bucket_size:5,zstd:3,window_log:20"),
    ("transpose,transpose_bucket_size:5 k", "g:1,t:true,p:false,transpose_bucket_size:5120,zstd:3,window_log:20"),
    ("transpose,transpose_bucket_size:-5", "! value transpose_bucket_size"),
    ("transpose,transpose_bucket_size:inf", "g:1,t:true,p:false,transpose_bucket_size:18446744073709551615,zstd:3,window_log:20"),
    ("transpose,transpose_bucket_size:nan", "! value transpose_bucket_size"),
    ("transpose,transpose_bucket_size:.5k", "g:1,t:true,p:false,transpose_bucket_size:512,zstd:3,window_log:20"),
    ("transpose,transpose_bucket_size:5.", "g:1,t:true,p:false,transpose_bucket_size:5,zstd:3,window_log:20"),
    ("transpose,transpose_bucket_size:", "! value transpose_bucket_size"),
    ("transpose,transpose_bucket_size:k", "! value transpose_bucket_size"),
    ("transpose,transpose_bucket_size:1m", "! value transpose_bucket_size"),
    ("transpose,transpose_bucket_size:1b", "! value transpose_bucket_size"),
    ("transpose,transpose_bucket_size:+5", "g:1,t:true,p:false,transpose_bucket_size:5,zstd:3,window_log:20"),
    ("transpose,transpose_bucket_size:18446744073709551615", "g:1,t:true,p:false,transpose_bucket_size:18446744073709551615,zstd:3,window_log:20"),
    ("transpose,transpose_bucket_size:18446744073709551616", "g:1,t:true,p:false,transpose_bucket_size:18446744073709551615,zstd:3,window_log:20"),
    ("transpose,transpose_bucket_size:1e30", "g:1,t:true,p:false,transpose_bucket_size:18446744073709551615,zstd:3,window_log:20"),
    ("transpose_bucket_size:7", "g:1,t:false,p:false,zstd:3,window_log:20"),
    ("transpose,brotli:11,group_size:3", "g:3,t:true,p:false,transpose_bucket_size:256,brotli:11"),
    ("group_size:\t5\n", "g:5,t:false,p:false,zstd:3,window_log:20"),
    ("group_size:5,", "g:5,t:false,p:false,zstd:3,window_log:20"),
    ("group_size=5", "! unknown group_size=5"),
    ("zstd:3;", "! value zstd"),
    ("zstd:3 ", "g:1,t:false,p:false,zstd:3,window_log:20"),
    ("zstd: 3", "g:1,t:false,p:false,zstd:3,window_log:20"),
    ("transpose: true", "! value transpose"),
    ("window_log: 12 ", "g:1,t:false,p:false,zstd:3,window_log:12"),
    ("brotli,window_log:1 2", "! value window_log"),
    ("group_size:1_000", "! value group_size"),
    ("group_size:١", "! value group_size"),
    ("window_log:20,zstd", "g:1,t:false,p:false,zstd:3,window_log:20"),
    ("window_log:auto,uncompressed", "! conflict window_log uncompressed"),
    ("window_log:auto,snappy", "! conflict window_log snappy"),
    ("a,a", "! unknown a"),
    ("zstd,zstd", "! repeated zstd"),
    ("default,zstd,default", "! repeated default"),
    ("zstd,foo,foo", "! unknown foo"),
    ("uncompressed,window_log", "! conflict uncompressed window_log"),
    ("zstd,window_log:x,brotli", "! conflict zstd brotli"),
    ("zstd,brotli,foo", "! unknown foo"),
    ("zstd,brotli,group_size:0", "! value group_size"),
    ("group_size:0,foo", "! value group_size"),
    ("group_size:0,zstd,brotli", "! value group_size"),
    ("brotli:99,zstd", "! conflict brotli zstd"),
    ("brotli:99,group_size:0", "! value group_size"),
    ("window_log:99,foo", "! unknown foo"),
    ("window_log:99,group_size:0", "! value group_size"),
    ("zstd,zstd,foo", "! repeated zstd"),
    ("transpose:x,zstd,brotli", "! value transpose"),
    ("default,zstd:99", "! value zstd"),
    ("zstd:99,default", "! default first"),
    ("zstd,brotli,default", "! default first"),
    ("group_size:x,group_size:1", "! value group_size"),
    ("transpose,transpose_bucket_size:-0.4", "! value transpose_bucket_size"),
    ("transpose,transpose_bucket_size:Infinity", "g:1,t:true,p:false,transpose_bucket_size:18446744073709551615,zstd:3,window_log:20"),
    ("transpose,transpose_bucket_size:1.5E", "g:1,t:true,p:false,transpose_bucket_size:1729382256910270464,zstd:3,window_log:20"),
    ("transpose,transpose_bucket_size:1e2E", "g:1,t:true,p:false,transpose_bucket_size:18446744073709551615,zstd:3,window_log:20"),
    ("zstd:99,window_log:99", "! value zstd"),
    ("window_log:99,zstd:99", "! value window_log"),
    ("window_log:99,zstd,snappy", "! conflict zstd snappy"),
    ("default:a:b,zstd", "g:1,t:false,p:false,zstd:3,window_log:20"),
    ("transpose,transpose_bucket_size:1e-400", "! value transpose_bucket_size"),
    ("transpose,transpose_bucket_size:1e400", "g:1,t:true,p:false,transpose_bucket_size:18446744073709551615,zstd:3,window_log:20"),
    ("transpose,transpose_bucket_size:1.", "g:1,t:true,p:false,transpose_bucket_size:1,zstd:3,window_log:20"),
    ("transpose,transpose_bucket_size:.", "! value transpose_bucket_size"),
    ("transpose,transpose_bucket_size:1 ", "g:1,t:true,p:false,transpose_bucket_size:1,zstd:3,window_log:20"),
    ("transpose,transpose_bucket_size:k1", "! value transpose_bucket_size"),
    ("transpose,transpose_bucket_size:1 k ", "! value transpose_bucket_size"),
    ("group_size:+ 5", "! value group_size"),
    ("group_size:--5", "! value group_size"),
    ("group_size:-0", "! value group_size"),
    ("brotli:-0", "g:1,t:false,p:false,brotli:0"),
    ("group_size:\x0b5", "g:5,t:false,p:false,zstd:3,window_log:20"),
];

/// A text and what the original has against it.
#[rustfmt::skip]
const READER: &[(&str, &str)] = &[
    ("", ""),
    ("default", "! unknown default"),
    ("default:1", "! unknown default"),
    (",", ""),
    ("readahead_buffer_size:0", ""),
    ("readahead_buffer_size:auto", ""),
    ("readahead_buffer_size:16M", ""),
    ("readahead_buffer_size:16MB", "! value readahead_buffer_size"),
    ("readahead_buffer_size:1G", ""),
    ("readahead_buffer_size:1073741825", "! value readahead_buffer_size"),
    ("readahead_buffer_size:1.5G", "! value readahead_buffer_size"),
    ("readahead_buffer_size:", "! value readahead_buffer_size"),
    ("readahead_buffer_size", "! value readahead_buffer_size"),
    ("max_parallelism:0", ""),
    ("max_parallelism:auto", ""),
    ("max_parallelism:2147483647", ""),
    ("max_parallelism:2147483648", "! value max_parallelism"),
    ("max_parallelism:-1", "! value max_parallelism"),
    ("max_parallelism:", "! value max_parallelism"),
    ("index_storage_option", ""),
    ("index_storage_option:", ""),
    ("index_storage_option:in_memory", ""),
    ("index_storage_option:offloaded", "! prefetch"),
    ("index_storage_option:offloaded,footer_prefetch_bytes:0", ""),
    ("index_storage_option:x", "! value index_storage_option"),
    ("footer_prefetch_bytes:auto", ""),
    ("footer_prefetch_bytes:0", ""),
    ("footer_prefetch_bytes:1G", ""),
    ("footer_prefetch_bytes:1025M", "! value footer_prefetch_bytes"),
    ("footer_prefetch_bytes:1k", ""),
    ("group_size:1", "! unknown group_size"),
    ("readahead_buffer_size:0,readahead_buffer_size:0", "! repeated readahead_buffer_size"),
    ("foo", "! unknown foo"),
    ("readahead_buffer_size:-1", "! value readahead_buffer_size"),
    ("readahead_buffer_size:0.4", ""),
    ("footer_prefetch_bytes:1,index_storage_option:offloaded", "! prefetch"),
    ("readahead_buffer_size:0,max_parallelism:0", ""),
    ("footer_prefetch_bytes: 0 ,index_storage_option:offloaded", ""),
    ("index_storage_option:offloaded,footer_prefetch_bytes:auto", "! prefetch"),
];

fn objection(error: &OptionError) -> String {
    assert!(!error.to_string().is_empty());
    match error {
        OptionError::Unknown { key, known } => {
            assert!(known.contains("max_parallelism, "));
            format!("! unknown {key}")
        }
        OptionError::Repeated(key) => format!("! repeated {key}"),
        OptionError::DefaultFirst => "! default first".to_owned(),
        OptionError::Conflict { first, second } => format!("! conflict {first} {second}"),
        OptionError::Value { key, .. } => format!("! value {key}"),
        OptionError::Prefetch(_) => "! prefetch".to_owned(),
    }
}

#[test]
fn writers_take_what_the_original_takes() {
    for (text, expected) in WRITER {
        let found = match text.parse::<WriterOptions>() {
            Ok(options) => {
                let stored = options.stored();
                let again: WriterOptions = stored.parse().unwrap();
                assert_eq!(again.stored(), stored);
                stored
                    .replace("group_size:", "g:")
                    .replace(",transpose:", ",t:")
                    .replace(",pad_to_block_boundary:", ",p:")
                    .replace(",max_parallelism:1", "")
            }
            Err(error) => objection(&error),
        };
        assert_eq!(found, *expected, "{text:?}");
    }
}

#[test]
fn readers_take_what_the_original_takes() {
    for (text, expected) in READER {
        let found = match text.parse::<ReaderOptions>() {
            Ok(options) => {
                assert_eq!(options.to_string().parse(), Ok(options), "{text:?}");
                String::new()
            }
            Err(error) => objection(&error),
        };
        assert_eq!(found, *expected, "{text:?}");
    }
    let options: ReaderOptions = "readahead_buffer_size:1.5k,max_parallelism:0".parse().unwrap();
    assert_eq!((options.readahead_buffer_size, options.max_parallelism), (Some(1536), Some(0)));
    let text = "max_parallelism:auto,readahead_buffer_size:auto,index_storage_option:in_memory,footer_prefetch_bytes:1048576";
    assert_eq!(ReaderOptions::default().to_string(), text);
}

/// The one thing that the original takes and we do not.
#[test]
fn hexadecimal_numbers_are_refused() {
    let error = "transpose,transpose_bucket_size:0x10".parse::<WriterOptions>().unwrap_err();
    assert_eq!(objection(&error), "! value transpose_bucket_size");
}
