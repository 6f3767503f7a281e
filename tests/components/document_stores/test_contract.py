"""Both stores, in memory and in a folder, keep every promise that Haystack's own test classes check."""

import inspect
from pathlib import Path

import pytest
from haystack import Document
from haystack.document_stores.errors import DuplicateDocumentError
from haystack.document_stores.types import DuplicatePolicy
from haystack.testing import document_store, document_store_async
from haystack.testing.document_store import (
    CountDocumentsByFilterTest,
    CountUniqueMetadataByFilterTest,
    DocumentStoreBaseExtendedTests,
    GetMetadataFieldMinMaxTest,
    GetMetadataFieldsInfoTest,
    GetMetadataFieldUniqueValuesTest,
)
from haystack.testing.document_store_async import (
    CountDocumentsAsyncTest,
    CountDocumentsByFilterAsyncTest,
    CountUniqueMetadataByFilterAsyncTest,
    DeleteAllAsyncTest,
    DeleteByFilterAsyncTest,
    DeleteDocumentsAsyncTest,
    FilterDocumentsAsyncTest,
    GetMetadataFieldMinMaxAsyncTest,
    GetMetadataFieldsInfoAsyncTest,
    GetMetadataFieldUniqueValuesAsyncTest,
    UpdateByFilterAsyncTest,
    WriteDocumentsAsyncTest,
)

from haystack_integrations.document_stores.autoindex import Bm25sDocumentStore, LuceneDocumentStore


@pytest.fixture(params=["memory", "folder"])
def store(request, store_class, tmp_path: Path):
    return store_class(None if request.param == "memory" else str(tmp_path / "store"))


class TestSynchronous(
    DocumentStoreBaseExtendedTests,
    CountDocumentsByFilterTest,
    CountUniqueMetadataByFilterTest,
    GetMetadataFieldsInfoTest,
    GetMetadataFieldMinMaxTest,
    GetMetadataFieldUniqueValuesTest,
):
    @pytest.fixture
    def document_store(self, store):
        return store

    def test_write_documents(self, document_store):
        document = Document(content="test doc")
        assert document_store.write_documents([document]) == 1
        with pytest.raises(DuplicateDocumentError):
            document_store.write_documents([document], policy=DuplicatePolicy.NONE)


class TestAsynchronous(
    CountDocumentsAsyncTest,
    CountDocumentsByFilterAsyncTest,
    CountUniqueMetadataByFilterAsyncTest,
    DeleteAllAsyncTest,
    DeleteByFilterAsyncTest,
    DeleteDocumentsAsyncTest,
    FilterDocumentsAsyncTest,
    GetMetadataFieldMinMaxAsyncTest,
    GetMetadataFieldsInfoAsyncTest,
    GetMetadataFieldUniqueValuesAsyncTest,
    UpdateByFilterAsyncTest,
    WriteDocumentsAsyncTest,
):
    @pytest.fixture
    def document_store(self, store):
        return store

    async def test_write_documents_async(self, document_store):
        document = Document(content="test doc")
        assert await document_store.write_documents_async([document]) == 1
        with pytest.raises(DuplicateDocumentError):
            await document_store.write_documents_async([document])


@pytest.mark.parametrize("cls", [Bm25sDocumentStore, LuceneDocumentStore])
def test_every_method_of_a_store_has_an_asynchronous_twin(cls) -> None:
    plain = {name for name in dir(cls) if not name.startswith("_") and callable(getattr(cls, name))}
    waiting = {name.removesuffix("_async") for name in plain if name.endswith("_async")}
    assert {name for name in plain if not name.endswith("_async")} - waiting == {"to_dict", "from_dict"}


@pytest.mark.parametrize(
    ("module", "ours"), [(document_store, TestSynchronous), (document_store_async, TestAsynchronous)]
)
def test_no_class_of_haystacks_tests_is_left_out(module, ours) -> None:
    classes = [cls for _, cls in inspect.getmembers(module, inspect.isclass) if cls.__module__ == module.__name__]
    with_tests = {cls for cls in classes if any(name.startswith("test_") for name in vars(cls))}
    assert with_tests
    assert with_tests <= set(ours.__mro__)
