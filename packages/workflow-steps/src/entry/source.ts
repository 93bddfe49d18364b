// Entry point `./source`: from a file to a checked document and the source of a bundle.

export { findIn, stepsSource } from "../source/module.ts";
export { checkedDocument } from "../source/source.ts";
