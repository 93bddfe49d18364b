import { WorkflowError } from "@uncaged/workflow";
import { unzipSync } from "fflate/browser";

/** The most that an archive may hold: files, and bytes when it is unpacked. */
export type UnzipLimits = { mostFiles?: number; mostBytes?: number };

/** A file of an archive. */
export type Unzipped = { path: string; data: Uint8Array };

/**
 * The files of a zip archive, in its order and without its folders. Their paths are as the archive has
 * them: who writes them must see to it that they lead nowhere else.
 *
 * @throws WorkflowError `ZIP_TOO_LARGE` before more than the limits (10,000 files, 256 MB) is unpacked,
 *   `ZIP_BROKEN` for what is no archive.
 */
export function unzipped(
  bytes: Uint8Array,
  { mostFiles = 10_000, mostBytes = 256 * 1024 * 1024 }: UnzipLimits = {},
): Unzipped[] {
  let files = 0;
  let total = 0;
  try {
    const all = unzipSync(bytes, {
      // The archive says how long each file is, and no more of it is unpacked than that.
      filter({ size, originalSize }) {
        files += 1;
        total += Math.max(size, originalSize);
        if (files > mostFiles) throw tooLarge(`more than ${mostFiles} files`);
        if (!(total <= mostBytes)) throw tooLarge(`more than ${mostBytes} bytes when unpacked`);
        return true;
      },
    });
    return Object.entries(all)
      .filter(([path]) => !path.endsWith("/"))
      .map(([path, data]) => ({ path, data }));
  } catch (error) {
    if (error instanceof WorkflowError) throw error;
    throw broken(error);
  }
}

const tooLarge = (what: string): WorkflowError =>
  new WorkflowError({
    code: "ZIP_TOO_LARGE",
    kind: "failed",
    message: `the archive has ${what}`,
    hint: "do not trust this archive, or unpack it with a tool of your own",
  });

function broken(error: unknown): WorkflowError {
  const why = error instanceof Error ? error.message : String(error);
  return new WorkflowError({
    code: "ZIP_BROKEN",
    kind: "failed",
    message: `the archive can't be read: ${why}`,
    hint: "see whether it is a zip archive, whole and without a password",
  });
}
