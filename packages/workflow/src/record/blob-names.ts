import type { Step } from "../contract/contract.ts";
import { sha256 } from "./sha256.ts";

/** The id of a blob: the first 128 bits of its SHA-256. */
export const blobIdOf = (bytes: Uint8Array): string => sha256(bytes).slice(0, 32);

export const isBlobId = (text: string): boolean => /^[0-9a-f]{32}$/.test(text);

/** Returns the texts in a step that may be blob ids. */
export const blobsNamedIn = ({ content, meta }: Step): string[] =>
  [...JSON.stringify([content, meta]).matchAll(named)].map(([id]) => id);

const named = /(?<![0-9a-f])[0-9a-f]{32}(?![0-9a-f])/g;
