import { type Files, isRead, isTaken, most } from "./files.ts";

/** What was dropped or chosen: the files that can be sent, and how many others there were. */
export type Dropped = { files: Files; others: string[] };

/** Nobody drops a folder of so many files on purpose. */
const mostSeen = 20_000;

/** The files that an input was given, of a folder also those in its folders. */
export function chosenFiles(list: Iterable<File>): Dropped {
  const seen: [string, File][] = [];
  for (const file of list) {
    const path = file.webkitRelativePath || file.name;
    if (isRead(path)) seen.push([path, file]);
  }
  return sorted(seen);
}

/** The files that were dropped, and those in the folders that were. */
export async function droppedFiles(transfer: DataTransfer): Promise<Dropped> {
  // The entries are gone as soon as the event has been dealt with.
  const items = [...transfer.items].map((item) => ({
    entry: item.webkitGetAsEntry(),
    file: item.getAsFile(),
  }));
  const seen: [string, File][] = [];
  for (const { entry, file } of items) {
    if (entry?.isDirectory) await walk(entry as FileSystemDirectoryEntry, seen);
    else if (file) seen.push([file.name, file]);
  }
  return sorted(seen);
}

// What can't be read is passed over: where it is imported, the build tells.
async function walk(folder: FileSystemDirectoryEntry, seen: [string, File][]): Promise<void> {
  const path = folder.fullPath.replace(/^\//, "");
  if (!isRead(path)) return;
  for (const entry of await entriesOf(folder).catch(() => [])) {
    if (seen.length > mostSeen) return;
    if (entry.isDirectory) await walk(entry as FileSystemDirectoryEntry, seen);
    else {
      const file = await fileOf(entry as FileSystemFileEntry).catch(() => null);
      if (file) seen.push([`${path}/${entry.name}`, file]);
    }
  }
}

/** A reader gives some of a folder's entries each time, and none when it is through. */
async function entriesOf(folder: FileSystemDirectoryEntry): Promise<FileSystemEntry[]> {
  const reader = folder.createReader();
  const all: FileSystemEntry[] = [];
  while (all.length <= mostSeen) {
    const some = await new Promise<FileSystemEntry[]>((resolve, reject) => {
      reader.readEntries(resolve, reject);
    });
    if (some.length === 0) break;
    all.push(...some);
  }
  return all;
}

const fileOf = (entry: FileSystemFileEntry): Promise<File> =>
  new Promise((resolve, reject) => {
    entry.file(resolve, reject);
  });

function sorted(seen: readonly [string, File][]): Dropped {
  const inOrder = seen.toSorted(([a], [b]) => (a < b ? -1 : 1));
  return {
    // One more than can be sent is enough to tell that they are too many.
    files: new Map(inOrder.filter(([path]) => isTaken(path)).slice(0, most.files + 1)),
    others: inOrder.filter(([path]) => !isTaken(path)).map(([path]) => path),
  };
}
