import { createReadStream } from "node:fs";

/** A line of a file without its line break, and the byte offset of its start. */
export type FileLine = { bytes: Buffer; at: number };

const pieceBytes = 1024 * 1024;

/** Reads the whole lines of a file. Skips a last line without a line break, which a crashed writer left. */
export async function* linesOf(path: string): AsyncGenerator<FileLine> {
  let rest: Buffer[] = [];
  let at = 0;
  for await (const piece of createReadStream(path, { highWaterMark: pieceBytes })) {
    let from = 0;
    for (let end = piece.indexOf(10); end >= 0; end = piece.indexOf(10, from)) {
      const bytes = Buffer.concat([...rest, (piece as Buffer).subarray(from, end)]);
      yield { bytes, at };
      rest = [];
      at += bytes.length + 1;
      from = end + 1;
    }
    rest.push((piece as Buffer).subarray(from));
  }
}
