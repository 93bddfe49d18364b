import { Link } from "@tanstack/react-router";
import { buttonClass } from "../controls/button.tsx";
import { Page } from "../shell/page.tsx";
import { Empty } from "../states/empty.tsx";

/** Stands where a thread was that somebody has deleted. */
export function Deleted() {
  return (
    <Page title="Thread">
      <Empty title="This thread was deleted">
        <p>Its logs are gone.</p>
        <Link to="/" className={buttonClass()}>
          To the threads
        </Link>
      </Empty>
    </Page>
  );
}
