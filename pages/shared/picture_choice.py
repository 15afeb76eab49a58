"""Which picture: one that comes along, or the reader's own, read once and kept in the session only."""

import streamlit as st
from starlette.formparsers import MultiPartParser
from streamlit.runtime.scriptrunner import get_script_run_ctx
from streamlit.runtime.uploaded_file_manager import UploadedFile

from attn_core import Lesson
from attn_core.images import (
    SAMPLES,
    SIDE,
    Picture,
    PictureError,
    digit_picture,
    read_picture,
    sample_picture,
)
from attn_core.limits import MAX_PICTURE_BYTES, MAX_PICTURE_EDGE, MAX_PIXELS
from attn_core.picture_thread import PICTURES, PictureSettings, PictureTrace, patch_sizes, run_picture
from pages.shared.controls import limits
from pages.shared.link import current, tied
from pages.shared.text import _, prose

_OWN, _REFUSED = "_own_picture", "_refused_picture"
_KINDS = ("image/png", "image/jpeg", "image/webp")

# Starlette, with which the server reads an upload, puts larger ones into a file on disk: a reader's never goes there.
MultiPartParser.spool_max_size = 2 * MAX_PICTURE_BYTES


def picture_controls() -> None:
    """Which picture, and how it is cut; for a picture of one's own, the place to put it."""
    picture = current_picture()
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        _which_picture()
        sizes = patch_sizes(picture)
        st.segmented_control(
            _("Patch size in pixels"),
            sizes,
            format_func=lambda cuts: f"{sizes[cuts]} × {sizes[cuts]}",
            required=True,
            **tied(PictureSettings, "patch_cuts"),
        )
        if picture.pixels.shape[-1] > 1:
            st.toggle(_("In grey"), **tied(PictureSettings, "grey"))
    _own_picture()


def picture_list() -> None:
    """Which picture, where nothing is cut."""
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        _which_picture()
    _own_picture()


def _which_picture() -> None:
    names = {"digit": _("Digit"), "flower": _("Flower"), "china": _("Pagoda"), "own": _("Your own")}
    st.segmented_control(
        _("Picture"), PICTURES, format_func=names.get, required=True, **tied(PictureSettings, "picture")
    )
    if current(PictureSettings).picture == "digit":
        digit_choice()


def digit_choice() -> None:
    """One of the 1,797 digits, by its number."""
    st.number_input(
        _("Number of the digit"), width=170, **limits(PictureSettings, "digit"), **tied(PictureSettings, "digit")
    )


def current_picture_trace() -> PictureTrace:
    """The thread of the session's picture, with the layers of its lesson."""
    settings, picture = current(PictureSettings), current_picture()
    return run_picture(picture.in_grey() if settings.grey else picture, settings.patch_cuts, current(Lesson))


def current_picture() -> Picture:
    """The chosen picture; until there is one of the reader's own, another."""
    settings = current(PictureSettings)
    if settings.picture == "digit":
        return digit_picture(settings.digit)
    if settings.picture == "own":
        own: Picture = st.session_state.get(_OWN) or sample_picture(SAMPLES[0])
        return own
    return sample_picture(settings.picture)


# A picture of one's own.


def _own_picture() -> None:
    """Where the reader's own picture is chosen: the place to put it."""
    if current(PictureSettings).picture != "own":
        return
    st.file_uploader(_("A picture of your own"), _KINDS, key="upload", on_change=_take_upload)
    st.caption(_allowed())
    st.caption(prose("image_patches", "upload"))
    if reason := st.session_state.get(_REFUSED):
        st.error(f"{_refusals()[reason]} {_allowed()}")
    if _OWN in st.session_state:
        st.button(_("Forget my picture"), icon=":material/delete:", key="forget_picture", on_click=_forget)
    else:
        st.info(_("This session has no picture of yours yet; until then the flower is shown."))


def _forget() -> None:
    st.session_state.pop(_OWN, None)


def _take_upload() -> None:
    """Reads the file at once: of the file itself, nothing is kept here.

    A file that is taken out of the field leaves the picture: so does one that is about to be replaced. After a lost
    connection the browser names a file that it has uploaded before, and that has been read or is gone.
    """
    file = st.session_state["upload"]
    st.session_state.pop(_REFUSED, None)
    if not isinstance(file, UploadedFile):
        return
    try:
        st.session_state[_OWN] = read_picture(file.getvalue())
    except PictureError as error:
        st.session_state[_REFUSED] = error.reason
    _forget_file(file)


def _forget_file(file: UploadedFile) -> None:
    """Streamlit would keep the file for as long as the session lasts: those of a class are half a gigabyte."""
    context = get_script_run_ctx()
    if context is not None:
        context.uploaded_file_mgr.remove_file(context.session_id, file.file_id)
    file.truncate(0)


def _allowed() -> str:
    return _(
        "Allowed: PNG, JPEG or WebP, at most {megabytes} MB, {pixels} million pixels, {edge:,} pixels an edge.",
        megabytes=MAX_PICTURE_BYTES // 1024**2,
        pixels=MAX_PIXELS // 1_000_000,
        edge=MAX_PICTURE_EDGE,
    )


def _refusals() -> dict[str, str]:
    return {
        "too_many_bytes": _("The file is too large."),
        "no_picture": _("This is no picture that can be read here."),
        "too_many_pixels": _("The picture has too many pixels."),
        "damaged": _("The picture is damaged or incomplete."),
    }


def picture_remarks(picture: Picture) -> str:
    """Where the numbers come from."""
    if current(PictureSettings).picture == "digit":
        return _("8 × 8 pixels, as the data set has them; 0 is black, 1 is white.")
    said = {
        "turned": _("turned upright as its EXIF tag says"),
        "cropped": _("cropped to its middle square"),
        "enlarged": _("enlarged by repeating pixels"),
        "transparent": _("transparency put on white"),
        "animated": _("the first picture of several"),
    }
    done = [said[remark] for remark in picture.remarks]
    size = _(
        "{width:,} × {height:,} pixels, made {side} × {side} by averaging",
        width=picture.width,
        height=picture.height,
        side=SIDE,
    )
    return " · ".join([size, *done, _("0 is dark, 1 is light; two decimals")])
