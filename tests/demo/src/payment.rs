//! The two FSPs of the demonstration and the one payment between them.

use crate::secure::Secured;
use anyhow::{Context as _, bail};
use rialto_manifest::Manifest;
use rialto_simulator::{
    Fsp, FspId, FspSettings, PartyId, PaymentOutcome, PaymentRequest, Recorded,
};

/// The payment.
pub struct Order {
    /// As an FSPIOP amount.
    pub amount: String,
}

/// The FSPs, with the payee's party known to the scheme.
pub struct Scene {
    payer: Fsp,
    payee: Fsp,
    party: PartyId,
    currency: String,
}

impl Scene {
    /// Start the scheme's first two participants, who send to the hub at this URL, and associate the payee's party.
    pub async fn open(
        manifest: &Manifest,
        hub: &str,
        secured: Option<&Secured>,
    ) -> anyhow::Result<Self> {
        let mut participants = manifest.scheme().participants.iter();
        let (Some(first), Some(second)) = (participants.next(), participants.next()) else {
            bail!("the demonstration needs two participants in the scheme");
        };
        let account = first.accounts.first().context("the payer has no account")?;
        let currency = account.currency.to_string();
        let party: PartyId = "MSISDN/27713803912".parse().context("a party")?;
        let own: PartyId = "MSISDN/27713803905".parse().context("a party")?;
        let start = async |participant: &rialto_manifest::scheme::Participant, party: PartyId| {
            let id: FspId = participant.id.as_str().parse().context("an FSP's id")?;
            let mut settings = FspSettings::new(id, vec![party]);
            let url = participant.callback_base_url.to_string();
            settings.listen = url
                .split_once("://")
                .map_or(&*url, |(_, address)| address)
                .parse()
                .with_context(|| format!("{url} is no address of this machine"))?;
            settings.hub = Some(hub.to_owned());
            if let Some(secured) = secured {
                secured.equip(&mut settings);
            }
            Fsp::start(settings)
                .await
                .with_context(|| format!("starting the FSP at {url}"))
        };
        let payer = start(first, own).await?;
        let payee = start(second, party.clone()).await?;
        payee
            .associate(&party, None)
            .await
            .map_err(|failure| anyhow::anyhow!("associating the payee: {}", failure.reason()))?;
        Ok(Self {
            payer,
            payee,
            party,
            currency,
        })
    }

    /// Make the payment.
    pub async fn pay(&self, order: &Order) -> PaymentOutcome {
        let request = PaymentRequest::new(self.party.clone(), &order.amount, &self.currency);
        self.payer.pay(&request).await
    }

    /// The payee's party, as histories name it.
    pub fn payee_party(&self) -> String {
        format!("{}/{}", self.party.kind(), self.party.identifier())
    }

    /// What both FSPs recorded.
    pub fn recordings(&self) -> Vec<Vec<Recorded>> {
        [&self.payer, &self.payee]
            .map(|fsp| fsp.recorder().messages())
            .into()
    }

    /// Both FSPs, with the addresses of callbacks and control API.
    pub fn urls(&self) -> Vec<(String, String)> {
        let both = [&self.payer, &self.payee];
        both.map(|fsp| (fsp.id().to_string(), fsp.url().to_string()))
            .into()
    }

    /// Stop both.
    pub async fn close(&self) {
        self.payer.stop().await;
        self.payee.stop().await;
    }
}
