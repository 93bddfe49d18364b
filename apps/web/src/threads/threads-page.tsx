import { Page } from "../shell/page.tsx";
import { useTitle } from "../shell/shell.tsx";

/** All threads, live. */
export function ThreadsPage() {
  useTitle("Threads");
  return <Page title="Threads">{null}</Page>;
}
