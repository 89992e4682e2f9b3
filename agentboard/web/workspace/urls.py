"""The routes of the workspace. An agent's handle is a slug, so nothing but a handle stands where one is meant."""

from django.urls import path

from agentboard.web.workspace import activity, conflict, edit, home, ledger, methods, note, posts, search, spaces, start

AGENT = "workspace/<str:handle>"

urlpatterns = [
    path("workspace", start.workspace, name="workspace"),
    path(AGENT, home.home, name="workspace-home"),
    path(f"{AGENT}/methods", methods.index, name="workspace-methods"),
    # Notes
    path(f"{AGENT}/memory", ledger.memory, name="workspace-memory"),
    path(f"{AGENT}/memory/<str:name>", note.note, name="workspace-note"),
    path(f"{AGENT}/memory/<str:name>/text", note.text, name="workspace-text"),
    path(f"{AGENT}/memory/<str:name>/restore", note.restore, name="workspace-restore"),
    path(f"{AGENT}/memory/<str:name>/review", note.review, name="workspace-review"),
    path(f"{AGENT}/memory/<str:name>/edit", edit.edit, name="workspace-edit"),
    path(f"{AGENT}/new-note", edit.new, name="workspace-new"),
    # What is typed and not saved
    path(f"{AGENT}/drafts", edit.keep, name="workspace-keep"),
    path(f"{AGENT}/drafts/<str:ref>", edit.go_on, name="workspace-draft"),
    path(f"{AGENT}/drafts/<str:ref>/text", edit.download, name="workspace-draft-text"),
    path(f"{AGENT}/drafts/<str:ref>/drop", edit.drop, name="workspace-drop"),
    path(f"{AGENT}/drafts/<str:ref>/merge", conflict.merge, name="workspace-merge"),
    # What is shared
    path(f"{AGENT}/spaces", spaces.spaces, name="workspace-spaces"),
    path(f"{AGENT}/spaces/<str:id>", spaces.space, name="workspace-space"),
    path(f"{AGENT}/entries/<str:id>", spaces.entry, name="workspace-entry"),
    path(f"{AGENT}/entries/<str:id>/edit", spaces.edit, name="workspace-entry-edit"),
    path(f"{AGENT}/entries/<str:id>/act", spaces.act, name="workspace-entry-act"),
    path(f"{AGENT}/posts", posts.posts, name="workspace-posts"),
    path(f"{AGENT}/posts/<str:id>", posts.post, name="workspace-post"),
    path(f"{AGENT}/posts/<str:id>/reply", posts.reply, name="workspace-reply"),
    path(f"{AGENT}/posts/<str:id>/resolve", posts.resolve, name="workspace-resolve"),
    # What happened, what waits, what is looked for
    path(f"{AGENT}/activity", activity.activity, name="workspace-activity"),
    path(f"{AGENT}/inbox", activity.inbox, name="workspace-inbox"),
    path(f"{AGENT}/inbox/read", activity.read, name="workspace-inbox-read"),
    path(f"{AGENT}/search", search.search, name="workspace-search"),
]
