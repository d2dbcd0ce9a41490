// SPDX-License-Identifier: Apache-2.0
#include "hns/api/api_win.h"

#include <combaseapi.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>
#include <thread>

#include "tests/hns/api/fake_hns_win.h"
#include "vxlan/text/utf16_win.h"

namespace weft::hns {
namespace {

using ::testing::ElementsAre;

const Guid kId = *Guid::Parse("55fedb88-4b11-4da4-8cd1-59970718a804");
constexpr wchar_t kBraced[] = L"{55FEDB88-4B11-4DA4-8CD1-59970718A804}";

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wnon-virtual-dtor"  // COM's interfaces have none
// Counts what CoTaskMemAlloc gave and CoTaskMemFree took back.
class AllocationSpy final : public IMallocSpy {
 public:
  AllocationSpy() { ::CoRegisterMallocSpy(this); }
  ~AllocationSpy() { ::CoRevokeMallocSpy(); }
  int allocated = 0;
  int freed = 0;

  STDMETHODIMP QueryInterface(REFIID id, void** out) override {
    *out = IsEqualIID(id, __uuidof(IMallocSpy)) || IsEqualIID(id, IID_IUnknown) ? this : nullptr;
    return *out == nullptr ? E_NOINTERFACE : S_OK;
  }
  STDMETHODIMP_(ULONG) AddRef() override { return 2; }
  STDMETHODIMP_(ULONG) Release() override { return 1; }
  STDMETHODIMP_(SIZE_T) PreAlloc(SIZE_T size) override { return size; }
  STDMETHODIMP_(void*) PostAlloc(void* actual) override {
    ++allocated;
    return actual;
  }
  STDMETHODIMP_(void*) PreFree(void* memory, WINBOOL) override {
    if (memory != nullptr) ++freed;
    return memory;
  }
  STDMETHODIMP_(void) PostFree(WINBOOL) override {}
  STDMETHODIMP_(SIZE_T) PreRealloc(void* in, SIZE_T size, void** out, WINBOOL) override {
    *out = in;
    return size;
  }
  STDMETHODIMP_(void*) PostRealloc(void* actual, WINBOOL) override { return actual; }
  STDMETHODIMP_(void*) PreGetSize(void* memory, WINBOOL) override { return memory; }
  STDMETHODIMP_(SIZE_T) PostGetSize(SIZE_T size, WINBOOL) override { return size; }
  STDMETHODIMP_(void*) PreDidAlloc(void* memory, WINBOOL) override { return memory; }
  STDMETHODIMP_(int) PostDidAlloc(void*, WINBOOL, int answer) override { return answer; }
  STDMETHODIMP_(void) PreHeapMinimize() override {}
  STDMETHODIMP_(void) PostHeapMinimize() override {}
};
#pragma GCC diagnostic pop

// A separate reference to a loaded module.
HMODULE Held(const wchar_t* name) {
  HMODULE module = nullptr;
  ::GetModuleHandleExW(0, name, &module);
  return module;
}

class WindowsApiTest : public ::testing::Test {
 protected:
  WindowsApiTest() { TheFakeHns() = FakeHns(); }
  FakeHns& fake() { return TheFakeHns(); }

  static std::unique_ptr<Api> OfThisProgram() { return ApiOf(Held(nullptr), Held(nullptr)); }
  const std::unique_ptr<Api> api_ = OfThisProgram();
};

// Each function of `api`, of networks where there is a choice.
std::vector<Hresult> CodesOf(Api& api) {
  return {api.Enumerate(Kind::kNetwork, "").code,
          api.Create(Kind::kNetwork, Handle::kNone, kId, "{}").code,
          api.Create(Kind::kEndpoint, Handle{1}, kId, "{}").code,
          api.Open(Kind::kNetwork, kId).code,
          api.Modify(Kind::kNetwork, Handle{1}, "{}").code,
          api.Query(Kind::kNetwork, Handle{1}, "").code,
          api.Delete(Kind::kNetwork, kId).code,
          api.Close(Kind::kNetwork, Handle{1}),
          api.Call("GET", "/globals/version", "").code,
          api.Subscribe([](Notification, std::string_view) {}).code,
          api.Unsubscribe(Handle{1})};
}

TEST(OpenApiTest, ComesAlways) {
  const auto api = OpenApi();
  ASSERT_TRUE(api.ok());
  EXPECT_NE(*api, nullptr);
}

TEST(ApiOfTest, WithoutTheDllsEveryCallReportsIt) {
  for (const Hresult code : CodesOf(*ApiOf(nullptr, nullptr)))
    EXPECT_EQ(code, hresult::kModuleNotFound);
}

TEST(ApiOfTest, WithOldDllsEveryMissingFunctionIsReported) {
  constexpr wchar_t kOther[] = L"kernel32.dll";
  for (const Hresult code : CodesOf(*ApiOf(Held(kOther), Held(kOther))))
    EXPECT_EQ(code, hresult::kFunctionNotFound);
}

TEST_F(WindowsApiTest, PassesEachFunctionItsArguments) {
  api_->Enumerate(Kind::kNetwork, "q\xc3\xbc");
  api_->Enumerate(Kind::kNetwork, "");
  api_->Create(Kind::kNetwork, Handle::kNone, kId, "{}");
  api_->Create(Kind::kEndpoint, Handle{7}, Guid(), "{}");
  api_->Open(Kind::kLoadBalancer, kId);
  api_->Modify(Kind::kNetwork, Handle{7}, "{\"a\":1}");
  api_->Query(Kind::kNamespace, Handle{8}, "");
  api_->Delete(Kind::kNetwork, kId);
  api_->Close(Kind::kEndpoint, Handle{9});
  api_->Call("GET", "/globals/version", "");
  const std::wstring id = kBraced;
  EXPECT_THAT(fake().calls,
              ElementsAre(L"HcnEnumerateNetworks q\u00fc", L"HcnEnumerateNetworks NULL",
                          L"HcnCreateNetwork " + id + L" {}",
                          L"HcnCreateEndpoint 7 {00000000-0000-0000-0000-000000000000} {}",
                          L"HcnOpenLoadBalancer " + id, L"HcnModifyNetwork 7 {\"a\":1}",
                          L"HcnQueryNamespaceProperties 8 NULL", L"HcnDeleteNetwork " + id,
                          L"HcnCloseEndpoint 9", L"HNSCall GET /globals/version "));
  EXPECT_EQ(api_->Delete(Kind::kEndpoint, kId).code, hresult::kFunctionNotFound);
}

TEST_F(WindowsApiTest, ReturnsTheResults) {
  fake().text = L"[\"\u53c2\"]";
  fake().handle = reinterpret_cast<void*>(0x1234567890);
  const Reply ids = api_->Enumerate(Kind::kNetwork, "");
  EXPECT_TRUE(ids.ok());
  EXPECT_EQ(ids.text, "[\"\xe5\x8f\x82\"]");
  EXPECT_EQ(ids.error_record, "");
  EXPECT_EQ(api_->Create(Kind::kNetwork, Handle::kNone, kId, "").handle, Handle{0x1234567890});
  EXPECT_EQ(api_->Open(Kind::kLoadBalancer, kId).handle, Handle{0x1234567890});
  EXPECT_EQ(api_->Call("GET", "/networks/", "").text, "[\"\xe5\x8f\x82\"]");

  fake().code = static_cast<HRESULT>(hresult::kNetworkNotFound);
  fake().record = L"{\"Success\":false}";
  const Reply refused = api_->Open(Kind::kLoadBalancer, kId);
  EXPECT_EQ(refused.code, hresult::kNetworkNotFound);
  EXPECT_EQ(refused.error_record, "{\"Success\":false}");
  EXPECT_EQ(refused.handle, Handle::kNone);  // whatever value the DLL wrote
}

TEST_F(WindowsApiTest, FreesEveryStringForAnyResult) {
  fake().text = L"text";
  fake().record = L"record";
  AllocationSpy spy;
  for (const HRESULT code : {S_OK, E_FAIL}) {
    fake().code = code;
    api_->Enumerate(Kind::kNetwork, "");                     // two strings
    api_->Create(Kind::kNetwork, Handle::kNone, kId, "{}");  // one
    api_->Create(Kind::kEndpoint, Handle{1}, kId, "{}");     // one
    api_->Open(Kind::kLoadBalancer, kId);                    // one
    api_->Modify(Kind::kNetwork, Handle{1}, "{}");           // one
    api_->Query(Kind::kNamespace, Handle{1}, "");            // two
    api_->Delete(Kind::kNetwork, kId);                       // one
    api_->Call("GET", "/networks/", "");                     // one
  }
  EXPECT_EQ(spy.allocated, 20);
  EXPECT_EQ(spy.freed, spy.allocated);
}

TEST_F(WindowsApiTest, DeliversNotificationsUntilTheSubscriptionEnds) {
  fake().handle = reinterpret_cast<void*>(77);
  std::vector<std::string> told;
  const Reply subscribed = api_->Subscribe([&](Notification type, std::string_view data) {
    told.push_back(std::to_string(static_cast<std::uint32_t>(type)) + " " + std::string(data));
  });
  ASSERT_TRUE(subscribed.ok());
  fake().notify(HcnNotificationNetworkCreate, fake().context, S_OK, L"{\"ID\":\"x\"}");
  fake().notify(HcnNotificationServiceDisconnect, fake().context, S_OK, nullptr);
  EXPECT_THAT(told, ElementsAre("2 {\"ID\":\"x\"}", "16777216 "));

  EXPECT_EQ(api_->Unsubscribe(subscribed.handle), hresult::kOk);
  EXPECT_EQ(fake().calls.back(), L"HcnUnregisterServiceCallback 77");
  fake().notify(HcnNotificationNetworkCreate, fake().context, S_OK, L"late");
  EXPECT_EQ(told.size(), 2u);
  EXPECT_EQ(api_->Unsubscribe(subscribed.handle), hresult::kInvalidHandle);
}

TEST_F(WindowsApiTest, ARefusedSubscriptionIsNone) {
  fake().code = static_cast<HRESULT>(hresult::kNoMoreEndpoints);
  bool told = false;
  const Reply subscribed = api_->Subscribe([&](Notification, std::string_view) { told = true; });
  EXPECT_EQ(subscribed.code, hresult::kNoMoreEndpoints);
  EXPECT_EQ(subscribed.handle, Handle::kNone);
  fake().notify(HcnNotificationNetworkCreate, fake().context, S_OK, L"");
  EXPECT_FALSE(told);
}

TEST_F(WindowsApiTest, UnsubscribeWaitsForTheNotificationInProgress) {
  std::promise<void> entered, leave;
  bool left = false;
  const Reply subscribed = api_->Subscribe([&](Notification, std::string_view) {
    entered.set_value();
    leave.get_future().wait();
    left = true;
  });
  std::thread service(
      [&] { fake().notify(HcnNotificationNetworkCreate, fake().context, S_OK, L""); });
  entered.get_future().wait();
  fake().unregistering = [&] { leave.set_value(); };
  EXPECT_EQ(api_->Unsubscribe(subscribed.handle), hresult::kOk);
  EXPECT_TRUE(left);
  service.join();
}

TEST_F(WindowsApiTest, ASubscriptionThatIsEndingIsEndedOnce) {
  const Reply subscribed = api_->Subscribe([](Notification, std::string_view) {});
  std::vector<Hresult> again;
  fake().unregistering = [&] {
    if (!again.empty()) return;
    again.push_back(hresult::kOk);
    again[0] = api_->Unsubscribe(subscribed.handle);
  };
  EXPECT_EQ(api_->Unsubscribe(subscribed.handle), hresult::kOk);
  EXPECT_THAT(again, ElementsAre(hresult::kInvalidHandle));
}

TEST_F(WindowsApiTest, ItsEndEndsItsSubscriptions) {
  bool told = false;
  auto api = OfThisProgram();
  ASSERT_TRUE(api->Subscribe([&](Notification, std::string_view) { told = true; }).ok());
  api.reset();
  EXPECT_EQ(fake().calls.back(), L"HcnUnregisterServiceCallback 0");
  fake().notify(HcnNotificationNetworkCreate, fake().context, S_OK, L"");
  EXPECT_FALSE(told);
}

TEST(WideTextTest, AnyTextRoundTrips) {
  EXPECT_EQ(Utf8(Utf16("a\xc3\xbc\xe5\x8f\x82\xf0\x9f\x98\x80")),
            "a\xc3\xbc\xe5\x8f\x82\xf0\x9f\x98\x80");
  EXPECT_EQ(Utf16(""), L"");
  EXPECT_EQ(Utf8(L""), "");
  EXPECT_EQ(Utf16(std::string_view("a\0b", 3)), std::wstring(L"a\0b", 3));
}

}  // namespace
}  // namespace weft::hns
