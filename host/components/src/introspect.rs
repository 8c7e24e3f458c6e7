//! Reads a component's imports and exports from its own type.

use wasmtime::Engine;
use wasmtime::component::Component;
use wasmtime::component::types::{ComponentItem, Type};

use crate::names::InterfaceName;
use crate::values::{describe, is_plain};

/// A function of an interface.
#[derive(Clone, Debug)]
pub struct Function {
    /// Its name.
    pub name: String,
    /// Parameters with their names.
    pub params: Vec<(String, Type)>,
    /// Nothing or one.
    pub results: Vec<Type>,
    /// Whether it is async, which the host does not support.
    pub is_async: bool,
}

impl Function {
    /// Whether both have the same names and types.
    pub fn fits(&self, other: &Self) -> bool {
        self.params == other.params && self.results == other.results
    }

    /// The signature in WIT syntax.
    pub fn signature(&self) -> String {
        let params: Vec<String> = self
            .params
            .iter()
            .map(|(name, ty)| format!("{name}: {}", describe(ty)))
            .collect();
        let result = self
            .results
            .first()
            .map(|ty| format!(" -> {}", describe(ty)));
        format!("func({}){}", params.join(", "), result.unwrap_or_default())
    }

    /// Whether its values can cross between components.
    pub fn is_plain(&self) -> bool {
        !self.is_async
            && self.params.iter().all(|(_, ty)| is_plain(ty))
            && self.results.iter().all(is_plain)
    }
}

/// An interface that a component imports or exports.
#[derive(Clone, Debug)]
pub struct Interface {
    /// Its name.
    pub name: InterfaceName,
    /// Its functions; none if only types are used.
    pub functions: Vec<Function>,
}

impl Interface {
    /// No function has a result.
    pub fn is_event(&self) -> bool {
        self.functions.iter().all(|f| f.results.is_empty())
    }

    /// Every function has a result.
    pub fn is_call(&self) -> bool {
        self.functions.iter().all(|f| !f.results.is_empty())
    }

    /// Whether its version is older than that of another interface.
    pub fn is_older_than(&self, other: &Self) -> bool {
        version(&self.name.version) < version(&other.name.version)
    }

    /// A function by its name.
    pub fn function(&self, name: &str) -> Option<&Function> {
        self.functions.iter().find(|f| f.name == name)
    }
}

/// A version as numbers, in their order.
pub(crate) fn version(text: &str) -> Vec<u64> {
    let parts = text.split('.');
    parts.map(|part| part.parse().unwrap_or(0)).collect()
}

/// What a component imports and exports.
#[derive(Clone, Debug, Default)]
pub struct Shape {
    /// Interfaces with functions that it imports.
    pub imports: Vec<Interface>,
    /// Interfaces with functions that it exports.
    pub exports: Vec<Interface>,
    /// Imports that are not interfaces. The host provides none of these.
    pub strange_imports: Vec<String>,
}

impl Shape {
    /// Read a component's type.
    pub fn of(component: &Component, engine: &Engine) -> Self {
        let ty = component.component_type();
        let mut shape = Self::default();
        for (name, item) in ty.imports(engine) {
            match interface(name, &item.ty, engine) {
                Some(interface) if interface.functions.is_empty() => {}
                Some(interface) => shape.imports.push(interface),
                None => shape.strange_imports.push(name.to_owned()),
            }
        }
        let exports = ty.exports(engine);
        let exports = exports.filter_map(|(name, item)| interface(name, &item.ty, engine));
        shape.exports = exports.filter(|i| !i.functions.is_empty()).collect();
        shape
    }

    /// An exported interface of the host's package, by its own name.
    pub fn exports_host(&self, interface: &str) -> bool {
        let mut exports = self.exports.iter();
        exports.any(|i| i.name.is_host() && i.name.interface == interface)
    }

    /// Whether it imports a host surface.
    pub fn imports_host(&self, interface: &str) -> bool {
        let mut imports = self.imports.iter();
        imports.any(|i| i.name.is_host() && i.name.interface == interface)
    }

    /// Whether it imports anything of WASI.
    pub fn imports_wasi(&self) -> bool {
        self.imports.iter().any(|i| i.name.is_wasi())
    }
}

fn interface(name: &str, item: &ComponentItem, engine: &Engine) -> Option<Interface> {
    let ComponentItem::ComponentInstance(instance) = item else {
        return None;
    };
    let name = InterfaceName::parse(name)?;
    let mut functions = Vec::new();
    for (function, item) in instance.exports(engine) {
        if let ComponentItem::ComponentFunc(ty) = item.ty {
            functions.push(Function {
                name: function.to_owned(),
                params: ty.params().map(|(n, t)| (n.to_owned(), t)).collect(),
                results: ty.results().collect(),
                is_async: ty.async_(),
            });
        }
    }
    Some(Interface { name, functions })
}
