/**
 * Turns a file into a checked document and the source of a bundle.
 *
 * @module
 */

export { findIn, stepsSource } from "../source/module.ts";
export { checkedDocument } from "../source/source.ts";
