import { count, counted } from "../format/amount.ts";

type Counts = {
  /** The rows that the search leaves. */
  shown: number;
  /** The rows that were read so far. */
  read: number;
  /** How many there are; null when that is not known. */
  total: number | null;
};

/** How many threads a list shows, and of how many: `100 of 10,412 threads`. */
export function countOf({ shown, read, total }: Counts): string {
  const listed = listedOf(read, total);
  return shown < read ? `${count(shown)} found in ${listed}` : listed;
}

function listedOf(read: number, total: number | null): string {
  if (total === null) return `the newest ${counted(read, "thread")}`;
  return read < total ? `${count(read)} of ${counted(total, "thread")}` : counted(total, "thread");
}
