//! A network between the host and the server: each byte arrives so much later.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::mpsc;
use std::time::{Duration, Instant};

/// Chunks on their way.
const CHUNKS: usize = 4_096;

/// A port that leads to the server's socket.
pub fn port(socket: &Path, delay: Duration) -> u16 {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    let socket = socket.to_owned();
    std::thread::spawn(move || {
        for host in listener.incoming() {
            let (host, server) = (host.unwrap(), UnixStream::connect(&socket).unwrap());
            host.set_nodelay(true).unwrap();
            let (to_host, to_server) = (host.try_clone().unwrap(), server.try_clone().unwrap());
            carry(host, to_server, delay, |server| {
                server.shutdown(Shutdown::Both).unwrap_or(())
            });
            carry(server, to_host, delay, |host: &TcpStream| {
                host.shutdown(Shutdown::Both).unwrap_or(())
            });
        }
    });
    port
}

fn carry<W: Write + Send + 'static>(
    mut from: impl Read + Send + 'static,
    mut to: W,
    delay: Duration,
    end: impl Fn(&W) + Send + 'static,
) {
    let (sender, chunks) = mpsc::sync_channel::<(Instant, Vec<u8>)>(CHUNKS);
    std::thread::spawn(move || {
        let mut buffer = vec![0; 1 << 16];
        while let Ok(bytes @ 1..) = from.read(&mut buffer) {
            let chunk = (Instant::now() + delay, buffer[..bytes].to_vec());
            if sender.send(chunk).is_err() {
                return;
            }
        }
    });
    std::thread::spawn(move || {
        for (due, chunk) in chunks {
            std::thread::sleep(due.saturating_duration_since(Instant::now()));
            if to.write_all(&chunk).is_err() {
                return;
            }
        }
        end(&to);
    });
}
