import { Page } from "../shell/page.tsx";
import { useTitle } from "../shell/title.ts";

/** One thread, live. */
export function ThreadPage() {
  useTitle("Thread");
  return <Page title="Thread">{null}</Page>;
}
