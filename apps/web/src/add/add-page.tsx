import { Page } from "../shell/page.tsx";
import { useTitle } from "../shell/title.ts";

/** Registers a file. */
export function AddPage() {
  useTitle("Add");
  return <Page title="Add">{null}</Page>;
}
