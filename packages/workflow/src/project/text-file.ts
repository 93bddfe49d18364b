import { WorkflowError } from "../contract/error.ts";
import { diskError, systemCode } from "../disk/disk-error.ts";
import { readFully } from "../disk/files.ts";
import { O_NONBLOCK, O_RDONLY } from "../system/port.ts";
import { system } from "../system/system.ts";

const mostBytes = 1024 * 1024;

/** What a file that is looked for may not be there with. */
const absent = ["ENOENT", "ENOTDIR", "ENAMETOOLONG"];

/**
 * The text of a file of the user's own; null when it is not there. It waits at no FIFO.
 * @throws WorkflowError `PROJECT_NOT_OURS` when another user, who is not root, could have written it; `NOT_A_FILE`,
 * `FILE_TOO_LARGE`, `NOT_A_TEXT`, and those of the disk.
 */
export function readTextFile(path: string): string | null {
  const { files } = system;
  let fd: number;
  try {
    fd = files.open(path, O_RDONLY | O_NONBLOCK);
  } catch (error) {
    // A folder that may not be searched holds nothing that could be found.
    const isHidden = systemCode(error) === "EACCES" && !files.exists(path);
    if (isHidden || absent.includes(systemCode(error) ?? "")) return null;
    throw diskError(error, "read", path);
  }
  try {
    return textOf(fd, path);
  } catch (error) {
    throw diskError(error, "read", path);
  } finally {
    files.close(fd);
  }
}

function textOf(fd: number, path: string): string {
  const found = system.files.statOpen(fd);
  const refuse = (code: string, what: string, hint: string) =>
    WorkflowError.failed(code, `${path} ${what}`, hint);
  if (!found.isFile()) throw refuse("NOT_A_FILE", "is no plain file", "put a text file there");
  if (!isTrusted(found.uid)) {
    const hint = "work in a folder of your own, or take the file over if you trust it";
    throw refuse("PROJECT_NOT_OURS", "belongs to another user", hint);
  }
  if (found.size > mostBytes) {
    throw refuse("FILE_TOO_LARGE", `has more than ${mostBytes} bytes`, "make it shorter");
  }
  const bytes = new Uint8Array(found.size);
  const length = readFully(fd, bytes, 0);
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes.subarray(0, length));
  } catch {
    throw refuse("NOT_A_TEXT", "is no UTF-8 text", "save it as UTF-8");
  }
}

// Root may trust all, and has to in a container that sees the files of another user.
function isTrusted(uid: number): boolean {
  const own = process.geteuid?.() ?? 0;
  return own === 0 || uid === 0 || uid === own;
}
