import type { FileAdapter } from "../adapter/adapter.ts";
import type { Run } from "../context/run.ts";
import { untilAborted } from "../step/adapter-call.ts";

/** The folder of a run's temporary files, from the root. */
export const temporaryFolder = (runID: string): string => `.tmp/${runID}`;

/** Removes a run's temporary files; what can't be removed stays. An abort ends the wait for that. */
export async function removeTemporary(
  { setup, state }: Run,
  signal: AbortSignal = new AbortController().signal,
): Promise<void> {
  const folder = temporaryFolder(state.runID);
  const isUsed = Object.keys(state.artifacts).some((path) => path.startsWith(`${folder}/`));
  const { file } = setup.adapters;
  if (!isUsed || !file) return;
  await untilAborted(signal, () => file.remove(folder)).catch(() => undefined);
}

/** Begins a run with a copy of another's temporary files, unless it has files of its own already. */
export async function copyTemporary(file: FileAdapter, from: string, to: string): Promise<void> {
  const folder = temporaryFolder(from);
  const own = await file.list(`${temporaryFolder(to)}/**`);
  if (own.length > 0) return;
  for (const path of await file.list(`${folder}/**`)) {
    const data = await file.read(path);
    await file.write(`${temporaryFolder(to)}${path.slice(folder.length)}`, data, "overwrite");
  }
}
