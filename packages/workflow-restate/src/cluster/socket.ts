import { mkdtempSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";

// The address of a Unix socket holds 104 bytes with the final zero on macOS, 108 on Linux: unix(4), unix(7).
const longest = 103;
let links: string | null = null;
let count = 0;

/** Returns a path short enough to connect to a Unix socket. It is valid until this process ends. */
export function connectable(path: string): string {
  if (Buffer.byteLength(path) <= longest) return path;
  if (links === null) {
    const folder = mkdtempSync(join(tmpdir(), "uw-"));
    process.once("exit", () => rmSync(folder, { recursive: true, force: true }));
    links = folder;
  }
  const link = join(links, `${(count += 1)}`);
  symlinkSync(dirname(path), link);
  return join(link, basename(path));
}
