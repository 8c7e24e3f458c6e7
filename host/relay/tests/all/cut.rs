//! A network between hosts that is cut: nothing comes through any more, and nobody is told.

use std::net::SocketAddr;

use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

use crate::client::ask;
use crate::hosts::{Host, Made, telling, two};

/// A network to this address. Returns the address that stands for it, and what cuts it.
async fn network(to: SocketAddr) -> (SocketAddr, watch::Sender<bool>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let (is_cut, watched) = watch::channel(false);
    tokio::spawn(async move {
        while let Ok((from, _)) = listener.accept().await {
            let to = TcpStream::connect(to).await.unwrap();
            let ((a, b), (c, d)) = (from.into_split(), to.into_split());
            tokio::spawn(pass(a, d, watched.clone()));
            tokio::spawn(pass(c, b, watched.clone()));
        }
    });
    (address, is_cut)
}

async fn pass(
    mut from: impl AsyncRead + Unpin,
    mut to: impl AsyncWrite + Unpin,
    mut is_cut: watch::Receiver<bool>,
) {
    let mut piece = vec![0; 64 << 10];
    while let Ok(length @ 1..) = from.read(&mut piece).await {
        if is_cut.wait_for(|is_cut| !is_cut).await.is_err()
            || to.write_all(&piece[..length]).await.is_err()
        {
            return;
        }
    }
}

#[tokio::test]
async fn a_request_on_its_way_over_a_cut_network_is_not_waited_for() {
    let (first, second) = two().await;
    let (address, is_cut) = network(first.relay).await;
    second.serves.send_replace(Some(address));
    let answer = ask(second.clients, "POST /a HTTP/1.1", b"body").await;
    assert!(answer.contains("first POST /a"), "{answer}");
    is_cut.send_replace(true);
    let asking = tokio::spawn(ask(second.clients, "GET /b HTTP/1.1", b""));
    let answer = ask(second.clients, "POST /b HTTP/1.1", b"body").await;
    assert!(answer.starts_with("HTTP/1.1 502 "), "{answer}");
    assert!(answer.contains("nobody knows"), "{answer}");
    // What only asks is asked again, of a host that is reached.
    let third = Host::start(Made::default()).await;
    third.door.open(telling("third"));
    second.serves.send_replace(Some(third.relay));
    let answer = asking.await.unwrap();
    assert!(answer.contains("third GET /b"), "{answer}");
}
