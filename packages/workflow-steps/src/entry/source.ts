/**
 * Turns a workflow file into a checked document and into the source of a bundle.
 * @module
 */

export { findIn, stepsSource } from "../source/module.ts";
export { checkedDocument } from "../source/source.ts";
