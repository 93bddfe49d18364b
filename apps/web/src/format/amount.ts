const grouped = new Intl.NumberFormat("en-US");
const cents = new Intl.NumberFormat("en-US", {
  minimumFractionDigits: 2,
  maximumFractionDigits: 2,
});
const dash = "–";

/** A count with its thousands set apart. */
export const count = (value: number): string => grouped.format(value);

/** A count of tokens, short: `840`, `12.3 k`, `1.20 M`; a dash for none. */
export function tokens(value: number): string {
  if (value === 0) return dash;
  if (value < 1_000) return String(value);
  if (value < 999_950) return `${(value / 1_000).toFixed(1)} k`;
  return `${(value / 1_000_000).toFixed(2)} M`;
}

/** US dollars, with the more digits the smaller they are; a dash for none. */
export function cost(value: number): string {
  if (value === 0) return dash;
  if (value < 0.0001) return "<$0.0001";
  if (value < 0.1) return `$${value.toFixed(4)}`;
  return `$${cents.format(value)}`;
}

/** A size in characters or bytes: `840 B`, `52.3 KB`, `1.2 MB`. */
export function size(value: number): string {
  if (value < 1_024) return `${value} B`;
  if (value < 1_024 * 1_024) return `${(value / 1_024).toFixed(1)} KB`;
  return `${(value / 1_024 / 1_024).toFixed(1)} MB`;
}

/** A noun with its count: `1 step`, `12 steps`. */
export const counted = (value: number, noun: string): string =>
  `${count(value)} ${noun}${value === 1 ? "" : "s"}`;
