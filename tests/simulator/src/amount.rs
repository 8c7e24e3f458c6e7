//! Amounts as FSPIOP writes them, and as whole minor units. Never a float.

/// Why a text is not an amount of its currency.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AmountError {
    /// Not the FSPIOP form.
    #[error(
        "`{0}` is no FSPIOP amount: digits, no leading zeros, at most four decimals that do not end in 0"
    )]
    Malformed(String),
    /// More decimals than the currency has.
    #[error("`{amount}` has more than the {scale} decimals of {currency}")]
    TooPrecise {
        /// The amount as it was written.
        amount: String,
        /// Its currency.
        currency: String,
        /// The decimals that the currency has.
        scale: usize,
    },
    /// More than an ILP packet can carry.
    #[error("`{0}` is beyond the 64 bits of an ILP packet's amount")]
    TooLarge(String),
}

/// The decimals of a currency, as deployed FSPs count them for the ILP packet.
pub fn scale(currency: &str) -> usize {
    match currency {
        "XOF" | "BIF" | "XAF" | "CLP" | "KMF" | "DJF" | "XPF" | "GNF" | "ISK" | "JPY" | "KRW"
        | "PYG" | "RWF" | "UGX" | "UYI" | "VUV" | "VND" => 0,
        "BHD" | "IQD" | "JOD" | "KWD" | "LYD" | "OMR" | "TND" => 3,
        "CLF" | "UYW" | "XXX" | "XTS" => 4,
        _ => 2,
    }
}

/// The amount in minor units of its currency.
pub fn minor_units(amount: &str, currency: &str) -> Result<u64, AmountError> {
    let malformed = || AmountError::Malformed(amount.to_owned());
    let (whole, decimals) = match amount.split_once('.') {
        None => (amount, ""),
        Some((_, decimals)) if decimals.is_empty() || decimals.ends_with('0') => {
            return Err(malformed());
        }
        Some(parts) => parts,
    };
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty()
        || whole.len() > 18
        || decimals.len() > 4
        || (whole.len() > 1 && whole.starts_with('0'))
        || !digits(whole)
        || !digits(decimals)
    {
        return Err(malformed());
    }
    let scale = scale(currency);
    if decimals.len() > scale {
        return Err(AmountError::TooPrecise {
            amount: amount.to_owned(),
            currency: currency.to_owned(),
            scale,
        });
    }
    let zeros = "0".repeat(scale - decimals.len());
    format!("{whole}{decimals}{zeros}")
        .parse()
        .map_err(|_| AmountError::TooLarge(amount.to_owned()))
}

/// Minor units as an FSPIOP amount: no trailing zeros, no needless point.
pub fn format(minor_units: u64, currency: &str) -> String {
    let scale = scale(currency);
    let digits = format!("{minor_units:0width$}", width = scale + 1);
    let (whole, decimals) = digits.split_at(digits.len() - scale);
    match decimals.trim_end_matches('0') {
        "" => whole.to_owned(),
        decimals => format!("{whole}.{decimals}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_become_minor_units_and_back() {
        for (amount, currency, units) in [
            ("0", "USD", 0),
            ("0.5", "USD", 50),
            ("99", "USD", 9900),
            ("12.34", "USD", 1234),
            ("5", "JPY", 5),
            ("1.005", "KWD", 1005),
            ("5.5555", "XXX", 55555),
        ] {
            assert_eq!(
                minor_units(amount, currency),
                Ok(units),
                "{amount} {currency}"
            );
            assert_eq!(format(units, currency), amount);
        }
    }

    #[test]
    fn what_is_no_amount_is_refused() {
        for wrong in [
            "", "5.0", "5.", "5.50", "5.55555", ".5", "00.5", "-5.5", "+1", "1e3", "1 ",
        ] {
            assert!(
                matches!(minor_units(wrong, "XXX"), Err(AmountError::Malformed(_))),
                "{wrong}"
            );
        }
        assert!(matches!(
            minor_units("0.5", "JPY"),
            Err(AmountError::TooPrecise { .. })
        ));
        let nines = "9".repeat(18);
        assert!(minor_units(&nines, "JPY").is_ok());
        assert!(matches!(
            minor_units(&nines, "USD"),
            Err(AmountError::TooLarge(_))
        ));
    }
}
