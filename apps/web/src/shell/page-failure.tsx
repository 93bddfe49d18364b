import { type ErrorComponentProps, Link } from "@tanstack/react-router";
import { MapPinOff } from "lucide-react";
import { buttonClass } from "../controls/button.tsx";
import { Empty } from "../states/empty.tsx";
import { FailureNotice } from "../states/failure.tsx";
import { Page } from "./page.tsx";

/** Stands in for a page that could not be shown. */
export function PageFailure({ error }: ErrorComponentProps) {
  return (
    <Page title="This page could not be shown">
      <FailureNotice
        error={error instanceof Error ? error : new Error(String(error))}
        onRetry={() => location.reload()}
      />
    </Page>
  );
}

/** Stands where there is no page. */
export function NoPage() {
  return (
    <Page title="Not found">
      <Empty icon={<MapPinOff />} title="There is no such page">
        <Link to="/" className={buttonClass()}>
          To the threads
        </Link>
      </Empty>
    </Page>
  );
}
