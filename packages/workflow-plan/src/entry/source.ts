/**
 * Turns the file of a plan into a checked definition and the source of a bundle.
 *
 * @module
 */

export { planSource } from "../source/source.ts";
