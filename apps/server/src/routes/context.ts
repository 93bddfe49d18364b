import type { Families, Root } from "@uncaged/workflow/host";
import type { ChangeFeed } from "../feed/change-feed.ts";
import type { Feeds } from "../feed/feeds.ts";
import type { Streams } from "../feed/streams.ts";
import type { Spendings } from "./spendings.ts";

/** What the routes have at hand. None of it is anything but a view of the storage root. */
export type Context = {
  root: Root;
  /** What threads that are started here get: the server's own environment and folder. */
  env: Record<string, string>;
  cwd: string;
  version: string;
  startedAt: number;
  feeds: Feeds;
  changes: ChangeFeed;
  streams: Streams;
  families: Families;
  spendings: Spendings;
};
