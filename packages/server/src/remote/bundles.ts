import type { Added, Host, RegisterOptions } from "@uncaged/workflow/host";
import type { RemoteArguments } from "@uncaged/workflow/internal";
import { checkFiles, withUpload } from "../routes/upload.ts";

type Uploaded = RemoteArguments["store"];

/** Registers an uploaded bundle under a name. */
export const addBundle = (
  host: Host,
  { name, dev, expected, ...sent }: RemoteArguments["register"],
): Promise<Added & { warnings: string[] }> =>
  withBundle(sent, (path, given) => host.register(name, path, { ...given, dev, expected }));

/** Stores an uploaded bundle without a name. */
export const storeBundle = (
  host: Host,
  sent: Uploaded,
): Promise<{ hash: string; warnings: string[] }> =>
  withBundle(sent, (path, given) => host.store(path, given));

async function withBundle<Result extends object>(
  { file, files: sent, types }: Uploaded,
  use: (path: string, options: Pick<RegisterOptions, "types" | "onWarning">) => Promise<Result>,
): Promise<Result & { warnings: string[] }> {
  const files = new Map(Object.entries(sent));
  checkFiles(files, file);
  if (types !== undefined) checkFiles(files, types);
  return await withUpload(file, files, async (path, plain) => {
    const warnings: string[] = [];
    const onWarning = (warning: string) => void warnings.push(plain(warning));
    const declared = types === undefined ? {} : { types: path.slice(0, -file.length) + types };
    return { ...(await use(path, { ...declared, onWarning })), warnings };
  });
}
