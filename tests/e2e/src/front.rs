//! What stands before several hosts, as a load balancer does: it leads each connection to the host that serves, and closes
//! those that lead to another one.

use std::net::SocketAddr;

use anyhow::Context as _;
use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

use crate::host::RunningHost;

/// See the module's documentation.
#[derive(Clone)]
pub struct Front {
    address: SocketAddr,
    leads_to: watch::Sender<Option<SocketAddr>>,
}

impl Front {
    /// Listen on a free port. Connections are closed while there is no host.
    ///
    /// # Errors
    /// When no port is free.
    pub async fn start() -> anyhow::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let front = Self {
            address: listener.local_addr()?,
            leads_to: watch::Sender::new(None),
        };
        let leads_to = front.leads_to.subscribe();
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                tokio::spawn(lead(client, leads_to.clone()));
            }
        });
        Ok(front)
    }

    /// The URL of FSPs' messages.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Lead new connections to this host, and close those to another one.
    ///
    /// # Errors
    /// When the host has no listener for FSPs.
    pub fn lead_to(&self, host: &RunningHost) -> anyhow::Result<()> {
        let url = host.url("fsps")?;
        let address = url.strip_prefix("http://").context("a host without TLS")?;
        let address = address.parse().context("the host's address")?;
        self.lead_to_address(address);
        Ok(())
    }

    /// The same for a host that listens here.
    pub fn lead_to_address(&self, address: SocketAddr) {
        self.leads_to.send_replace(Some(address));
    }
}

/// Lead a connection to the host of this moment, until another one is to be led to.
async fn lead(mut client: TcpStream, mut leads_to: watch::Receiver<Option<SocketAddr>>) {
    let Some(address) = *leads_to.borrow_and_update() else {
        return;
    };
    let Ok(mut host) = TcpStream::connect(address).await else {
        return;
    };
    tokio::select! {
        // A connection that breaks is the client's to notice.
        _ = copy_bidirectional(&mut client, &mut host) => {}
        _ = leads_to.wait_for(|now| *now != Some(address)) => {}
    }
}
