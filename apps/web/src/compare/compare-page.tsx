import { Page } from "../shell/page.tsx";
import { useTitle } from "../shell/title.ts";

/** Two threads side by side. */
export function ComparePage() {
  useTitle("Compare");
  return <Page title="Compare">{null}</Page>;
}
