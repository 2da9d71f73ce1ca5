//! The attribute of the crate `alcor-test`, which documents it.
#![forbid(unsafe_code)]

use proc_macro::TokenStream;
use quote::{format_ident, quote};
use syn::parse::{Parse, ParseStream};
use syn::punctuated::Punctuated;
use syn::{
    Attribute, BinOp, Error, Expr, ExprLit, Ident, ItemFn, Lit, LitInt, LitStr, Meta, Token,
    Visibility, bracketed, parse_macro_input,
};

/// The arguments of the attribute.
struct Needs {
    ranks: LitInt,
    blocks: Vec<Ident>,
    kernel: Option<LitStr>,
    steady: bool,
}

impl Parse for Needs {
    fn parse(input: ParseStream<'_>) -> syn::Result<Needs> {
        let mut needs = Needs {
            ranks: LitInt::new("1", input.span()),
            blocks: Vec::new(),
            kernel: None,
            steady: false,
        };
        while !input.is_empty() {
            let word: Ident = input.parse()?;
            match word.to_string().as_str() {
                "ranks" => {
                    if !matches!(input.parse::<BinOp>()?, BinOp::Ge(_)) {
                        return Err(Error::new(word.span(), "expected `ranks >= NUMBER`"));
                    }
                    needs.ranks = input.parse()?;
                    if needs.ranks.base10_parse::<u32>()? == 0 {
                        return Err(Error::new(needs.ranks.span(), "a test has at least 1 rank"));
                    }
                }
                "needs" => {
                    input.parse::<Token![=]>()?;
                    let list;
                    bracketed!(list in input);
                    let blocks = Punctuated::<Ident, Token![,]>::parse_terminated(&list)?;
                    needs.blocks.extend(blocks);
                }
                "kernel" => {
                    input.parse::<Token![=]>()?;
                    let name: LitStr = input.parse()?;
                    if name.value().len() != 4 {
                        return Err(Error::new(name.span(), "a kernel's name has 4 characters"));
                    }
                    needs.kernel = Some(name);
                }
                "steady" => needs.steady = true,
                _ => {
                    let known = "expected `ranks >= NUMBER`, `needs = [BLOCK, ...]`, `kernel = \"NAME\"` or `steady`";
                    return Err(Error::new(word.span(), known));
                }
            }
            if !input.is_empty() {
                input.parse::<Token![,]>()?;
            }
        }
        Ok(needs)
    }
}

/// The documentation of a function, joined into one line.
fn summary(attributes: &[Attribute]) -> String {
    let lines = attributes.iter().filter_map(|attribute| {
        let Meta::NameValue(pair) = &attribute.meta else {
            return None;
        };
        match &pair.value {
            Expr::Lit(ExprLit {
                lit: Lit::Str(text),
                ..
            }) if pair.path.is_ident("doc") => Some(text.value().trim().to_owned()),
            _ => None,
        }
    });
    lines.collect::<Vec<_>>().join(" ")
}

/// Declares a test of a program over Alcor; the crate `alcor-test` documents the arguments.
#[proc_macro_attribute]
pub fn alcor_test(attribute: TokenStream, item: TokenStream) -> TokenStream {
    let Needs {
        ranks,
        blocks,
        kernel,
        steady,
    } = parse_macro_input!(attribute as Needs);
    let function = parse_macro_input!(item as ItemFn);
    let signature = &function.sig;
    if signature.inputs.len() != 1 || signature.asyncness.is_some() {
        let needed = "a test has one argument, `&Context`, and is not `async`";
        let error = Error::new_spanned(signature, needed);
        return error.to_compile_error().into();
    }
    let (name, summary) = (&signature.ident, summary(&function.attrs));
    let (ignored, others): (Vec<_>, Vec<_>) = function
        .attrs
        .iter()
        .cloned()
        .partition(|it| it.path().is_ident("ignore"));
    let body = ItemFn {
        attrs: others,
        vis: Visibility::Inherited,
        ..function.clone()
    };
    let kernel = match kernel {
        None => quote!(::core::option::Option::None),
        Some(name) => quote!(::core::option::Option::Some(#name)),
    };
    let test = format_ident!("ALCOR_TEST_{}", name.to_string().to_uppercase());
    quote! {
        static #test: ::alcor_test::Test = {
            #body
            const MODULE: &str = ::core::module_path!();
            const FUNCTION: &str = ::core::stringify!(#name);
            const NAME: [u8; ::alcor_test::__private::length(MODULE, FUNCTION)] =
                ::alcor_test::__private::join(MODULE, FUNCTION);
            ::alcor_test::Test {
                name: ::alcor_test::__private::text(&NAME),
                summary: #summary,
                ranks: #ranks,
                needs: &[#(::alcor_test::Capability::#blocks),*],
                kernel: #kernel,
                steady: #steady,
                line: ::core::line!(),
                body: &#name,
            }
        };

        ::alcor_test::__private::inventory::submit! {
            ::alcor_test::__private::Registered(&#test)
        }

        #(#ignored)*
        #[cfg(test)]
        #[test]
        fn #name() {
            ::alcor_test::run_or_panic(&#test);
        }
    }
    .into()
}
