/** Returns the SHA-256 of bytes or of a text, as 64 hexadecimal digits in lower case. */
export const sha256 = (bytes: Uint8Array | string): string =>
  new Bun.CryptoHasher("sha256").update(bytes).digest("hex");

/** Whether a value has the form of a SHA-256. */
export const isSha256 = (value: unknown): value is string =>
  typeof value === "string" && /^[0-9a-f]{64}$/.test(value);
