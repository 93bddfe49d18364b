import type { Run } from "../context/run.ts";

/** The folder of a run's temporary files, from the root. */
export const temporaryFolder = (runID: string): string => `.tmp/${runID}`;

/** Removes a run's temporary files; what can't be removed stays. */
export async function removeTemporary({ setup, state }: Run): Promise<void> {
  const folder = temporaryFolder(state.runID);
  const isUsed = Object.keys(state.artifacts).some((path) => path.startsWith(`${folder}/`));
  if (isUsed) await setup.adapters.file?.remove(folder).catch(() => undefined);
}
