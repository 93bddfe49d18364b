import type { PreparedBundle } from "../bundle/prepare.ts";
import { SourceMap } from "../bundle/source-map.ts";
import { mapPath, type Root } from "../disk/paths.ts";
import type { Host } from "../host/host.ts";
import type { EndReason } from "../record/record.ts";
import type { ThreadRef } from "../record/thread.ts";
import type { Recording } from "./recording.ts";

/** Reads a version of a host: a name, `name@hash`, a hash or its unique prefix. @throws WorkflowError as `resolve`. */
export async function storedBundle(host: Host, version: string): Promise<PreparedBundle> {
  const { hash } = await host.resolve(version);
  const bytes = new TextEncoder().encode(await host.source(hash));
  const descriptor = (await host.descriptor(hash)) ?? { description: "", roles: {} };
  // Only a storage root has the source maps here; the hash names the content.
  const map = SourceMap.at(mapPath(host.root as Root, hash));
  return { bytes, descriptor, ...(map && { map: map.text }) };
}

/** Reads the records of a thread; null when it has been removed. */
export async function recordingOf(host: Host, ref: ThreadRef): Promise<Recording | null> {
  let start: Recording["start"] | null = null;
  const steps: Recording["steps"] = [];
  let end: EndReason | null = null;
  for await (const item of host.observe(ref, undefined, { events: false, until: "now" })) {
    if (item.kind === "start") ({ start } = item);
    if (item.kind === "step") steps.push(item.step);
    if (item.kind === "end") end = item.end.meta.reason;
    if (item.kind === "removed") return null;
  }
  return start && { start, steps, end };
}
